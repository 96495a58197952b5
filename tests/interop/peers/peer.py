"""The published Python SDK as a partner for tests.

    peer.py URL [legacy|zset]        the layout is for Redis alone
    peer.py URL [GROUP:TIER,TIER]    group and retry tiers (ms) are for Kafka alone

One JSON request a line on standard input, one JSON answer a line on standard output. A request has an
`op`; the others of its members are that function's arguments. Bodies are base64.
"""

import base64
import json
import logging
import sys
import time

from babelqueue import BabelQueue, EnvelopeCodec, headers_from_context
from babelqueue.transport import ReceivedMessage, make_transport


def to_text(data):
    """The SDK's own form of stored bytes: invalid UTF-8 as lone surrogates, so nothing is lost."""
    return base64.b64decode(data).decode("utf-8", "surrogateescape")


def from_text(text):
    return base64.b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")


class Peer:
    def __init__(self, url, layout=None):
        self.url = url
        self.zset = layout == "zset"
        self.group, _, tiers = (layout or "").partition(":")
        self.tiers = [int(tier) for tier in tiers.split(",") if tier]
        self.transports = {}
        self.reservations = []

    def transport(self, retry_after):
        if retry_after not in self.transports:
            self.transports[retry_after] = self.make(retry_after)
        return self.transports[retry_after]

    def make(self, retry_after):
        if self.url.startswith("kafka"):
            from babelqueue.kafka_transport import KafkaTransport

            return KafkaTransport(self.url, group_id=self.group, retry_tiers_ms=self.tiers or None)
        if not self.url.startswith("redis"):
            return make_transport(self.url)
        from babelqueue.redis_transport import RedisTransport

        return RedisTransport(self.url, laravel_compat=self.zset, retry_after=retry_after)

    def let_go(self):
        """Ends what its client holds beyond what it was asked for: one message a link, a place in a group."""
        for transport in self.transports.values():
            transport.close()
        self.transports.clear()

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

    def reinject(self, queue, group, count, timeout=30.0):
        """Runs the SDK's re-injector until it has forwarded so many records."""
        from babelqueue.kafka_retry import RetryReinjector

        worker = RetryReinjector(
            self.url, work_topics=[queue], retry_tiers_ms=self.tiers, group_id=group)
        done, end = 0, time.monotonic() + timeout
        while done < count and time.monotonic() < end:
            done += worker.run_once(0.1) or 0
        worker.close()
        return {"done": done}

    def publishRaw(self, queue, body):
        self.transport(90).publish(queue, to_text(body))
        return {}

    def pop(self, queue, timeout=5.0, retryAfter=90):
        transport = self.transport(retryAfter)
        message = transport.pop(queue, timeout)
        if message is None:
            return {"reservation": None}
        self.reservations.append((transport, message))
        answer = {
            "reservation": len(self.reservations) - 1,
            "body": from_text(message.body),
            "headers": dict(message.headers or {}),
        }
        # What Redis stores of a reservation: a member of the zset, or a token and the element.
        if self.url.startswith("redis"):
            handle = message.handle
            stored = handle if self.zset else f"{handle.token}:{handle.raw}"
            answer["reserved"] = from_text(stored)
        return answer

    def ack(self, reservation):
        transport, message = self.reservations[reservation]
        transport.ack(message)
        return {}

    def ackStored(self, queue, body, stored):
        """Acknowledges a reservation that somebody else made, by what is stored of it."""
        handle = to_text(stored)
        if not self.zset:
            from babelqueue.redis_transport import _LegacyHandle

            handle = _LegacyHandle(raw=handle[33:], token=handle[:32])
        self.transport(90).ack(ReceivedMessage(body=to_text(body), queue=queue, handle=handle))
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
        if self.url.startswith(("artemis", "kafka")):
            self.let_go()
        return {"taken": taken, "failed": seen["failed"], "handled": seen["handled"]}


def main():
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    peer = Peer(*sys.argv[1:3])
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
