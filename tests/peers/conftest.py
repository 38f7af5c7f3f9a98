from __future__ import annotations

from collections.abc import Iterator

import pytest
from peer_house import NEW, OLD, TRANSPORTS, PeerHouse, Way, peer_house


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeerHouse]:
    """One running house for a whole file. A client over stdio finds it there and speaks through it."""
    with peer_house(tmp_path_factory.mktemp("peers")) as house:
        yield house


@pytest.fixture(params=[(transport, era) for era in (OLD, NEW) for transport in TRANSPORTS], ids=" ".join)
def way(request: pytest.FixtureRequest, peers: PeerHouse) -> Way:
    return Way(peers, *request.param)
