"""Extra CA certificates of this machine, for servers with network access.

Companies that inspect their own TLS traffic name their certificates in these variables; without them, programs cannot
connect.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

NAMES = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def trusted(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that name an existing file, with their paths."""
    named = {name: environment.get(name, "") for name in NAMES}
    return {name: path for name, path in named.items() if os.path.isabs(path) and os.path.isfile(path)}
