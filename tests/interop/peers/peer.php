<?php
/**
 * Laravel's own Redis queue as a partner for tests: its RedisQueue, RedisJob and Worker, in a container
 * without an application.
 *
 *     php peer.php URL
 *
 * One JSON request a line on standard input, one JSON answer a line on standard output. A request has
 * an `op`; the others of its members are that function's arguments. Bodies are base64.
 */

use Illuminate\Container\Container;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Events\Dispatcher as DispatcherContract;
use Illuminate\Events\Dispatcher;
use Illuminate\Queue\Capsule\Manager;
use Illuminate\Queue\Jobs\RedisJob;
use Illuminate\Queue\Worker;
use Illuminate\Queue\WorkerOptions;
use Illuminate\Redis\RedisManager;
use Illuminate\Support\Str;

error_reporting(E_ALL & ~E_DEPRECATED & ~E_USER_DEPRECATED);
ini_set('display_errors', 'stderr');
ini_set('log_errors', '0');
foreach (['Queue', 'Redis', 'Events'] as $component) {
    require_once "Illuminate/$component/autoload.php";
}
// As in an application: a warning of PHP is an exception, a deprecation is not.
set_error_handler(function ($level, $message, $file, $line) {
    if (! (error_reporting() & $level)) {
        return false;
    }
    throw new ErrorException($message, 0, $level, $file, $line);
});

/** An exception handler that lets the worker's exceptions be forgotten. */
class Silent implements ExceptionHandler
{
    public function report(Throwable $e)
    {
    }

    public function shouldReport(Throwable $e)
    {
        return false;
    }

    public function render($request, Throwable $e)
    {
        throw $e;
    }

    public function renderForConsole($output, Throwable $e)
    {
        throw $e;
    }
}

/** What the container makes for every URN: Laravel calls `fire`, and `failed` at the last attempt. */
class Handler
{
    public array $handled = [];
    public int $thrown = 0;
    public int $failed = 0;
    public bool $stopped = false;

    public function __construct(private object $plan)
    {
    }

    public function fire($job, $data)
    {
        if ($job->getName() === ($this->plan->stop ?? null)) {
            $this->stopped = true;
            $job->delete();
            return;
        }
        $every = $this->plan->failEvery ?? 0;
        $fails = $this->thrown < ($this->plan->fail ?? 0)
            || ($every > 0 && $job->attempts() === 1 && $data['n'] % $every === 0);
        if ($fails) {
            $this->thrown++;
            throw new RuntimeException('asked to fail');
        }
        $payload = $job->payload();
        $this->handled[] = ['id' => $payload['meta']['id'] ?? null, 'urn' => $job->getName(), 'data' => $data,
            'attempts' => $job->attempts(), 'traceId' => $payload['trace_id'] ?? null];
        $job->delete();
    }

    public function failed($data, $exception, $uuid)
    {
        $this->failed++;
    }
}

class Peer
{
    private Container $app;
    private Manager $capsule;
    private array $reservations = [];

    public function __construct(string $url)
    {
        $this->app = $app = new Container;
        Container::setInstance($app);
        $app->instance(Container::class, $app);
        $app->instance('events', new Dispatcher($app));
        $app->instance(DispatcherContract::class, $app['events']);
        $app->instance(ExceptionHandler::class, new Silent);
        $app->instance('redis', new RedisManager($app, 'phpredis', [
            'default' => ['url' => $url], 'options' => ['prefix' => ''],
        ]));
        $this->capsule = new Manager($app);
    }

    /** Name of a connection with this retry_after. */
    private function connection($retryAfter): string
    {
        $name = "retry-$retryAfter";
        $this->capsule->addConnection(['driver' => 'redis', 'connection' => 'default', 'queue' => 'default',
            'retry_after' => $retryAfter, 'block_for' => null], $name);
        return $name;
    }

    private function queue($retryAfter = 90)
    {
        return $this->capsule->getConnection($this->connection($retryAfter));
    }

    private function push(string $queue, string $body, $delay): void
    {
        if ($delay === null) {
            $this->queue()->pushRaw($body, $queue);
            return;
        }
        // Laravel's delayed push of a raw body is not public.
        (function () use ($queue, $body, $delay) {
            $this->laterRaw($delay, $body, $queue);
        })->call($this->queue());
    }

    public function publish(object $in): array
    {
        $id = (string) Str::uuid();
        $body = json_encode(['job' => $in->job, 'trace_id' => $in->traceId ?? (string) Str::uuid(),
            'data' => $in->data, 'meta' => ['id' => $id, 'queue' => $in->queue, 'lang' => 'php',
                'schema_version' => 1, 'created_at' => (int) (microtime(true) * 1000)], 'attempts' => 0],
            JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION | JSON_THROW_ON_ERROR);
        $this->push($in->queue, $body, $in->delay ?? null);
        return ['id' => $id];
    }

    public function publishRaw(object $in): array
    {
        $this->push($in->queue, base64_decode($in->body, true), $in->delay ?? null);
        return [];
    }

    public function pop(object $in): array
    {
        $end = microtime(true) + ($in->timeout ?? 5);
        $queue = $this->queue($in->retryAfter ?? 90);
        do {
            $job = $queue->pop($in->queue);
            if ($job !== null) {
                $this->reservations[] = $job;
                return ['reservation' => count($this->reservations) - 1, 'body' => base64_encode($job->getRawBody()),
                    'reserved' => base64_encode($job->getReservedJob()), 'attempts' => $job->attempts()];
            }
            usleep(50000);
        } while (microtime(true) < $end);
        return ['reservation' => null];
    }

    public function ack(object $in): array
    {
        $this->reservations[$in->reservation]->delete();
        return [];
    }

    /** Acknowledges a reservation that somebody else made, by what is stored of it. */
    public function ackStored(object $in): array
    {
        $job = new RedisJob($this->app, $this->queue(), base64_decode($in->body), base64_decode($in->stored),
            'default', $in->queue);
        $job->delete();
        return [];
    }

    public function release(object $in): array
    {
        $this->reservations[$in->reservation]->release($in->delay ?? 0);
        return [];
    }

    /** Runs Laravel's own worker until `count` messages, an idle time, or the message `stop`. */
    public function work(object $in): array
    {
        $handler = new Handler($in);
        foreach (array_merge($in->urns, isset($in->stop) ? [$in->stop] : []) as $urn) {
            $this->app->instance($urn, $handler);
        }
        $taken = 0;
        $last = microtime(true);
        $events = $this->app['events'];
        $events->forget('Illuminate\Queue\Events\JobProcessing');
        $events->listen('Illuminate\Queue\Events\JobProcessing', function () use (&$taken, &$last) {
            $taken++;
            $last = microtime(true);
        });
        $worker = new Worker($this->capsule->getQueueManager(), $events, new Silent, function () {
            return false;
        });
        $connection = $this->connection($in->retryAfter ?? 90);
        // name, back-off, memory, time-out, sleep, tries
        $options = new WorkerOptions('default', 0, 512, 0, 0.05, $in->tries ?? 0);
        while ($taken < ($in->count ?? PHP_INT_MAX) && ! $handler->stopped
            && microtime(true) - $last <= ($in->idle ?? 10)) {
            $worker->runNextJob($connection, $in->queue, $options);
        }
        return ['taken' => $taken, 'failed' => $handler->thrown, 'gone' => $handler->failed,
            'handled' => $handler->handled];
    }
}

$peer = new Peer($argv[1]);
echo json_encode(['ready' => true]), "\n";
while (($line = fgets(STDIN)) !== false) {
    try {
        $request = json_decode($line, false, 512, JSON_THROW_ON_ERROR);
        $answer = $peer->{$request->op}($request);
    } catch (Throwable $e) {
        $answer = ['error' => get_class($e).': '.$e->getMessage()];
    }
    fwrite(STDOUT, json_encode((object) $answer, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE)."\n");
}
