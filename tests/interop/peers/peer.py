"""The published Python SDK as a partner for tests.

    peer.py URL legacy|zset

One JSON request a line on standard input, one JSON answer a line on standard output. A request has an
`op`; the others of its members are that function's arguments. Bodies are base64.
"""

import base64
import json
import logging
import sys
import time

from babelqueue import BabelQueue, EnvelopeCodec, headers_from_context
from babelqueue.redis_transport import RedisTransport
from babelqueue.transport import ReceivedMessage


def to_text(data):
    """The SDK's own form of stored bytes: invalid UTF-8 as lone surrogates, so nothing is lost."""
    return base64.b64decode(data).decode("utf-8", "surrogateescape")


def from_text(text):
    return base64.b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")


class Peer:
    def __init__(self, url, layout):
        self.url = url
        self.zset = layout == "zset"
        self.transports = {}
        self.reservations = []

    def transport(self, retry_after):
        if retry_after not in self.transports:
            self.transports[retry_after] = RedisTransport(
                self.url, laravel_compat=self.zset, retry_after=retry_after
            )
        return self.transports[retry_after]

    def publish(self, queue, job, data, traceId=None, headers=None, delay=None):
        transport = self.transport(90)
        app = BabelQueue(transport=transport, queue=queue)
        if delay is not None:
            made = EnvelopeCodec.make(job, data, queue=queue, trace_id=traceId)
            transport.publish_delayed(queue, EnvelopeCodec.encode(made), delay)
            return {"id": made["meta"]["id"]}
        if headers:
            return {"id": app.publish_with_headers(job, data, headers, trace_id=traceId)}
        return {"id": app.publish(job, data, trace_id=traceId)}

    def publishRaw(self, queue, body):
        self.transport(90).publish(queue, to_text(body))
        return {}

    def pop(self, queue, timeout=5.0, retryAfter=90):
        transport = self.transport(retryAfter)
        message = transport.pop(queue, timeout)
        if message is None:
            return {"reservation": None}
        self.reservations.append((transport, message))
        return {
            "reservation": len(self.reservations) - 1,
            "body": from_text(message.body),
            "headers": dict(message.headers or {}),
        }

    def ack(self, reservation):
        transport, message = self.reservations[reservation]
        transport.ack(message)
        return {}

    def ackStored(self, queue, body, stored):
        """Acknowledges a reservation that somebody else made, by what is stored of it."""
        message = ReceivedMessage(body=to_text(body), queue=queue, handle=to_text(stored))
        self.transport(90).ack(message)
        return {}

    def release(self, reservation, delay=0):
        transport, message = self.reservations[reservation]
        transport.release(message, delay)
        return {}

    def work(self, queue, count=None, idle=10.0, fail=0, failEvery=0, tries=3, deadLetter=True,
             unknown="fail", urns=(), retryAfter=90, stop=None):
        """Runs the SDK's own worker until `count` messages, an idle time, or the message `stop`."""
        app = BabelQueue(
            transport=self.transport(retryAfter), queue=queue, max_attempts=tries,
            dead_letter=deadLetter, on_unknown_urn=unknown,
        )
        seen = {"handled": [], "failed": 0, "stopped": False}

        def handler(data, meta, message):
            attempts = message.get("attempts")
            first = attempts == 0
            fails = seen["failed"] < fail
            if failEvery and first and data.get("n", 1) % failEvery == 0:
                fails = True
            if fails:
                seen["failed"] += 1
                raise RuntimeError("asked to fail")
            seen["handled"].append({
                "id": meta.get("id"), "urn": message.get("job"), "data": data, "attempts": attempts,
                "traceId": message.get("trace_id"), "headers": dict(headers_from_context()),
            })

        def stopper(data, meta, message):
            seen["stopped"] = True

        for urn in urns:
            app.register(urn, handler)
        if stop is not None:
            app.register(stop, stopper)
        taken, last = 0, time.monotonic()
        while (count is None or taken < count) and not seen["stopped"]:
            if app.consume(max_messages=1, timeout=0.2, handle_signals=False) > 0:
                taken, last = taken + 1, time.monotonic()
            elif time.monotonic() - last > idle:
                break
        return {"taken": taken, "failed": seen["failed"], "handled": seen["handled"]}


def main():
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    peer = Peer(sys.argv[1], sys.argv[2])
    sys.stdin.reconfigure(encoding="utf-8")
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        op = request.pop("op")
        try:
            answer = getattr(peer, op)(**request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
