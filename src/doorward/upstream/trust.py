"""The certificates that this machine trusts beside its usual ones, for servers that may use the network.

Where a company looks into its own traffic, programs are told by variables whom to trust, and reach nothing without it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

NAMES = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def trusted(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of these variables that name a file, each with its path."""
    named = {name: environment.get(name, "") for name in NAMES}
    return {name: path for name, path in named.items() if os.path.isabs(path) and os.path.isfile(path)}
