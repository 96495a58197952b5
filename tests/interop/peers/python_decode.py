"""What the published Python SDK says about bodies.

One body in base64 a line on standard input, one JSON answer a line on standard output.
"""

import base64
import json
import logging
import re
import sys

from babelqueue import EnvelopeCodec


class Pointers(logging.Handler):
    """Keeps the member that each warning of the SDK names."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.seen = []

    def emit(self, record):
        self.seen += re.findall(r"(?<=key )/\S+", record.getMessage())

    def take(self):
        seen, self.seen = self.seen, []
        return sorted(set(seen))


def retry(envelope):
    """The SDK's own copy of a message with one more attempt; null when it cannot write one."""
    try:
        again = dict(envelope, attempts=(envelope.get("attempts") or 0) + 1)
        stored = EnvelopeCodec.encode(again).encode("utf-8", "surrogateescape")
    except (TypeError, UnicodeEncodeError, RecursionError):
        return None
    return base64.b64encode(stored).decode("ascii")


def judge(body, pointers):
    verdict = "ok" if EnvelopeCodec.poison_cause(body) is None else "poison"
    pointers.take()
    try:
        envelope = EnvelopeCodec.decode(body)
        decoded = "envelope" if envelope else "empty"
    except Exception as error:
        envelope, decoded = {}, type(error).__name__
    warnings = pointers.take()
    return {
        "verdict": verdict,
        "decoded": decoded,
        "urn": EnvelopeCodec.urn(envelope),
        "accepts": EnvelopeCodec.accepts(envelope),
        "warnings": warnings,
        "retry": retry(envelope) if verdict == "ok" else None,
    }


def main():
    pointers = Pointers()
    logger = logging.getLogger("babelqueue")
    logger.addHandler(pointers)
    logger.propagate = False
    for line in sys.stdin:
        # The SDK's own form of stored bytes: invalid UTF-8 as lone surrogates, so nothing is lost.
        body = base64.b64decode(line).decode("utf-8", "surrogateescape")
        try:
            answer = judge(body, pointers)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
