"""The PrometheusRule: the alerts of deploy/prometheus/alerts.yaml, as Prometheus Operator takes them."""

from __future__ import annotations

from pathlib import Path

from .text import HEAD, indented


def files(alerts: Path) -> dict[str, str]:
    text = alerts.read_text(encoding="utf-8")
    groups = text[text.index("groups:\n"):]
    head = HEAD.format(source="deploy/prometheus/alerts.yaml")
    return {"components/prometheus-operator/alerts.yaml": f"""{head}apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: railcni
  namespace: railcni-system
  labels: {{ app.kubernetes.io/name: railcni }}
spec:
{indented(groups, 2)}"""}
