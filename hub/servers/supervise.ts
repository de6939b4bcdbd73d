import { setTimeout as delay } from 'node:timers/promises';
import { HubError, createEmitter, kindOf, messageOf } from '#core';
import type { ServerConfig } from '#config';
import { backoffMs, createIntensity } from '#resilience';
import type { Notification } from '#rpc';
import type { Instance, LaunchEvents } from '#runtimes';
import { awayCodeOf, goneError, startFailure, withoutName } from './failures.ts';
import { introduce } from './handshake.ts';
import { createLimitedLog } from './limited-log.ts';
import {
  type Item,
  type ListKind,
  type Listing,
  emptyListing,
  listKinds,
  readListing,
  sameItems,
} from './listing.ts';
import { refusalOf } from './refusal.ts';
import { createRereads } from './reread.ts';
import type { Server, ServerNeeds, ServerStatus, Running } from './server.ts';
import { createStatusLog } from './status-log.ts';
import { createStderrRing } from './stderr-ring.ts';
import { type Upstream, createUpstream } from './upstream.ts';
import { aborted, within } from './within.ts';

/** A server that has run this long has its restarts forgotten. */
const restartWindowMs = 5 * 60_000;
const backoff = { firstMs: 500, maxMs: 30_000, jitter: 0.5 };
/** How long a server has from the end of its input to its end. */
const graceMs = 5_000;
/** How long the exit of a process may come after the end of its stdout, to be named in errors. */
const exitNoticeMs = 1_000;

/** Supervises one server: a single loop takes it from state to state, one step at a time. */
export function createServer(config: ServerConfig, needs: ServerNeeds): Server {
  const { clock } = needs;
  const { name } = config;
  const log = needs.log.child({ server: name });
  const output = createLimitedLog(log, { clock });
  const logStatus = createStatusLog(log, { clock });
  const changed = createEmitter<ServerStatus>();
  const listed = createEmitter<ListKind>();
  const notified = createEmitter<Notification>();
  const stderr = createStderrRing();
  let status: ServerStatus = { state: 'stopped', byHand: false };
  let running: Running | undefined;
  let listing: Listing = emptyListing;
  let restarts = 0;
  let lastError: Server['lastError'];
  let closing = false;
  /** The loop in force, and how to end it. */
  let loop: { readonly end: AbortController; readonly over: Promise<void> } | undefined;

  function become(next: ServerStatus): void {
    status = next;
    logStatus(next, running?.instance.about ?? {});
    changed.fire(next);
  }

  function failedWith(error: unknown): string {
    const message = messageOf(error);
    lastError = { at: clock.now(), message, stderr: stderr.text() };
    return message;
  }

  const events: LaunchEvents = {
    stderr(line) {
      stderr.add(line);
      output.info({ stderr: line }, 'stderr');
    },
    progress(text) {
      log.info({}, text);
      if (status.state === 'starting') become({ ...status, progress: text });
    },
  };

  function replaceList(kind: ListKind, items: readonly Item[]): void {
    if (sameItems(listing[kind], items)) return;
    listing = { ...listing, [kind]: items };
    listed.fire(kind);
  }

  /** Launches, initialises and reads the lists. Throws when any of it fails, with nothing left. */
  async function bringUp(signal: AbortSignal): Promise<Running> {
    stderr.clear();
    const instance = await needs.launch(config, events, signal);
    const deadline = AbortSignal.timeout(config.startTimeoutMs);
    try {
      const upstream: Upstream = createUpstream({ server: name }, instance.channel, {
        log,
        output,
        notified(notification) {
          if (!rereads.hear(notification)) notified.fire(notification);
        },
      });
      const rereads = createRereads({ server: name, timeoutMs: config.callTimeoutMs }, upstream, {
        clock,
        log,
        isCurrent: () => running?.upstream === upstream,
        replace: replaceList,
      });
      void failWhenGone(instance, upstream);
      const greet = async () => {
        const introduction = await introduce(
          name,
          upstream,
          needs.hubVersion,
          config.startTimeoutMs,
        );
        const lists = await readListing(
          name,
          upstream,
          introduction.capabilities,
          config.startTimeoutMs,
          { log },
        );
        return { introduction, lists };
      };
      const { introduction, lists } = await within(greet(), signal, deadline);
      signal.throwIfAborted();
      running = { instance, upstream, introduction };
      for (const kind of listKinds) replaceList(kind, lists[kind]);
      rereads.begin();
      return running;
    } catch (error) {
      running = undefined;
      await instance.stop({ graceMs: signal.aborted ? graceMs : 0 });
      throw error;
    }
  }

  /** Answers every request in flight when the channel ends, and says how the server ended. */
  async function failWhenGone(instance: Instance, upstream: Upstream): Promise<void> {
    const { reason, error } = await instance.channel.closed;
    const exit = await Promise.race([
      instance.exited,
      delay(exitNoticeMs, undefined, { ref: false }),
    ]);
    upstream.fail(gone(exit?.detail ?? reason, error));
  }

  const gone = (how: string, cause?: Error) => goneError(name, how, stderr.text(), cause);

  async function supervise(signal: AbortSignal): Promise<void> {
    // Starts that time out, and the waits between them, must all fall into the window, or a server
    // that never comes up would be tried for ever.
    const slowestMs = config.startTimeoutMs + backoff.maxMs;
    const intensity = createIntensity(
      {
        maxRestarts: config.maxRestarts,
        windowMs: restartWindowMs + config.maxRestarts * slowestMs,
      },
      clock,
    );
    const stopRequested = aborted(signal);
    let failures = 0;
    while (!signal.aborted) {
      let error: unknown;
      become({ state: 'starting', since: clock.now(), progress: 'launching' });
      try {
        const { instance, upstream } = await bringUp(signal);
        const since = clock.monotonic();
        become({ state: 'running', since: clock.now() });
        const cause = await Promise.race([
          instance.exited.then(() => undefined),
          instance.channel.closed.then(closed => closed.error),
          stopRequested.then(() => undefined),
        ]);
        running = undefined;
        if (signal.aborted) {
          upstream.fail(gone('it was stopped'));
          await instance.stop({ graceMs });
          return;
        }
        const exit = await instance.stop({ graceMs: 0 });
        // A stop that came meanwhile says itself how it ends.
        if (signal.aborted) return;
        const ended = gone(exit.detail, cause);
        upstream.fail(ended);
        error = ended;
        if (clock.monotonic() - since > restartWindowMs) failures = 0;
      } catch (caught) {
        if (signal.aborted) return;
        error = startFailure(name, caught, stderr.text());
      }
      const why = failedWith(error);
      // What the operator must mend is not tried again by itself.
      if (kindOf(error) === 'invalid' || kindOf(error) === 'conflict') {
        become({ state: 'failed', since: clock.now(), why });
        return;
      }
      failures++;
      const away = awayCodeOf(error);
      // What is away is nothing the server did: it is tried for as long as it takes.
      if (!away && (!config.restartOnFailure || !intensity.record())) {
        const given = config.restartOnFailure
          ? `gave up after ${config.maxRestarts} restarts`
          : 'restart_on_failure is off';
        const said = `${given}: ${withoutName(name, why)}`;
        become({ state: 'failed', since: clock.now(), why: said });
        return;
      }
      const delayMs = backoffMs(backoff, failures, needs.random);
      const now = clock.now();
      const until = now + delayMs;
      become(
        away
          ? { state: 'unreachable', since: now, until, code: away, why }
          : { state: 'backing_off', until, why },
      );
      await delay(delayMs, undefined, { signal }).catch(() => undefined);
      if (!away) restarts++;
    }
  }

  function start(): void {
    if (closing) return;
    if (loop && !loop.end.signal.aborted) return;
    const end = new AbortController();
    const before = loop?.over;
    // Who asks for it now waits for the new instance, and is not told that the old one is stopping.
    if (before) become({ state: 'starting', since: clock.now(), progress: 'waiting for its end' });
    const over = (before ? before.then(() => supervise(end.signal)) : supervise(end.signal))
      .catch((error: unknown) => {
        // A bug in the loop must be seen as a failed server, not as one that starts for ever.
        log.error({ error: String(error) }, 'supervision ended');
        become({ state: 'failed', since: clock.now(), why: failedWith(error) });
      })
      .finally(() => {
        if (loop?.end === end) loop = undefined;
      });
    loop = { end, over };
  }

  async function stop(byHand: boolean): Promise<void> {
    const ending = loop;
    if (ending) {
      ending.end.abort();
      // From here on nobody may be handed the instance that is about to end.
      running = undefined;
      become({ state: 'stopping', since: clock.now() });
      await ending.over;
    }
    // Somebody may have started it again meanwhile.
    if (!loop) become({ state: 'stopped', byHand });
  }

  const refusal = () =>
    closing
      ? new HubError('HUB_SHUTTING_DOWN', `${name} is not started: the hub is stopping`, {
          data: { server: name, retryable: true },
        })
      : refusalOf(config, status, stderr.text(), clock.now());

  return {
    config,
    changed: changed.event,
    listed: listed.event,
    notified: notified.event,
    get status() {
      return status;
    },
    get listing() {
      return listing;
    },
    get running() {
      return running;
    },
    get restarts() {
      return restarts;
    },
    get lastError() {
      return lastError;
    },
    stderr: () => stderr.text(),
    start,
    stop,
    async close() {
      closing = true;
      await stop(false);
    },
    async ready() {
      if (running) return running;
      const refused = refusal();
      if (refused) throw refused;
      const { promise, resolve, reject } = Promise.withResolvers<Running>();
      using _ = changed.event(() => {
        if (status.state === 'running' && running) resolve(running);
        else {
          const error = refusal();
          if (error) reject(error);
        }
      });
      start();
      return await promise;
    },
  };
}
