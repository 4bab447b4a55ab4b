# Filled by lib/ovs.
