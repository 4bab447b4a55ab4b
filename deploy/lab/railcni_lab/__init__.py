"""The lab: a rail-optimised fabric out of network namespaces, with real Open vSwitch, FRRouting and CNI chains."""
