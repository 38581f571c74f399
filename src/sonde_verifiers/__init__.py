"""What verifiers finds under the id `sonde-verifiers`: its ids have no dots, so this package has a name of its own."""

from sonde.interop.outward.verifiers import SondeEnv, SondeTaskset

__all__ = ["SondeEnv", "SondeTaskset"]
