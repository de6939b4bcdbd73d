import { setTimeout as delay } from 'node:timers/promises';
import { HubError, createEmitter, messageOf } from '#core';
import type { ServerConfig } from '#config';
import type { Instance, LaunchEvents } from '#runtimes';
import type { Asked, Told } from './caller.ts';
import { goneError, startFailure } from './failures.ts';
import { createLimitedLog } from './limited-log.ts';
import { type ListKind, emptyListing, listKinds } from './listing.ts';
import { createOffers } from './offers.ts';
import { refusalOf } from './refusal.ts';
import { createRestarts } from './restarts.ts';
import type { Interest, Own, Running, Server, ServerNeeds, ServerStatus } from './server.ts';
import { type StartNeeds, type Started, graceMs, startServer } from './start.ts';
import { createStatusLog } from './status-log.ts';
import { createStderrRing } from './stderr-ring.ts';
import type { Upstream } from './upstream.ts';
import { aborted } from './within.ts';

/** How long the exit of a process may come after the end of its stdout, to be named in errors. */
const exitNoticeMs = 1_000;

/**
 * Supervises one server: a single loop takes it from state to state, one step at a time. One that a session
 * has for itself (`own`) is not started again when it ends, but by the next call.
 */
export function createServer(config: ServerConfig, needs: ServerNeeds, own?: Own): Server {
  const { clock } = needs;
  const { name } = config;
  const log = needs.log.child({ server: name, ...(own && { instance: own.instance }) });
  const output = createLimitedLog(log, { clock });
  const logStatus = createStatusLog(log, { clock });
  const changed = createEmitter<ServerStatus>();
  const listed = createEmitter<ListKind>();
  const notified = createEmitter<Told>();
  const asked = createEmitter<Asked>();
  const advice: string[] = [];
  const stderr = createStderrRing();
  let status: ServerStatus = { state: 'stopped', byHand: false };
  let running: Running | undefined;
  let session: Started | undefined;
  let interest: Interest = { resources: [], tasks: [] };
  /** What those are told that wait for an instance of a session. */
  let failure: HubError | undefined;
  const offers = createOffers(own?.base.listing ?? emptyListing, listed.fire);
  let restarts = 0;
  let lastError: Server['lastError'];
  let closing = false;
  /** The loop in force, and how to end it. */
  let loop: { readonly end: AbortController; readonly over: Promise<void> } | undefined;

  function become(next: ServerStatus): void {
    status = next;
    logStatus(next, running ? { ...running.instance.about, era: running.introduction.era } : {});
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

  const startNeeds: StartNeeds = {
    ...needs,
    log,
    output,
    events,
    own,
    interest: () => interest,
    notified: notified.fire,
    asked: asked.fire,
    replace: offers.replace,
    isCurrent: upstream => running?.upstream === upstream,
    launching: () => stderr.clear(),
    opened: (instance, upstream) => void failWhenGone(instance, upstream),
  };

  /** Starts it once. Throws when that fails, with nothing left. */
  async function bringUp(signal: AbortSignal): Promise<Running> {
    const started = await startServer(config, startNeeds, signal);
    running = started.running;
    session = started;
    started.subscription?.want(interest);
    for (const kind of listKinds) offers.replace(kind, started.lists[kind]);
    started.rereads.begin();
    return running;
  }

  /** From here on nobody may be handed the instance that is about to end, or has ended. */
  function letGo(): void {
    running = undefined;
    session?.subscription?.stop();
    session = undefined;
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
    const policy = createRestarts(config, needs);
    const stopRequested = aborted(signal);
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
        letGo();
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
        policy.ran(clock.monotonic() - since);
      } catch (caught) {
        if (signal.aborted) return;
        error = startFailure(name, caught, stderr.text());
      }
      const why = failedWith(error);
      if (own) {
        failure = error instanceof HubError ? error : goneError(name, why, stderr.text(), error);
        become({ state: 'failed', since: clock.now(), why });
        // Whoever asks for it from here on starts another loop.
        loop?.end.abort();
        become({ state: 'stopped', byHand: false });
        return;
      }
      const { status: next, delayMs, counts } = policy.after(error, why);
      become(next);
      if (delayMs === undefined) return;
      await delay(delayMs, undefined, { signal }).catch(() => undefined);
      if (counts) restarts++;
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
      letGo();
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
      : own && status.state === 'failed'
        ? failure
        : refusalOf(config, status, stderr.text(), clock.now());

  const server: Server = {
    config,
    changed: changed.event,
    listed: listed.event,
    notified: notified.event,
    asked: asked.event,
    advice,
    get status() {
      return status;
    },
    get listing() {
      return offers.listing;
    },
    get running() {
      return running;
    },
    get restarts() {
      return restarts;
    },
    get instances() {
      return needs.instances.count(server);
    },
    get lastError() {
      return lastError;
    },
    stderr: () => stderr.text(),
    advise(text) {
      if (own) {
        own.base.advise(text);
        return;
      }
      if (advice.includes(text)) return;
      advice.push(text);
      log.warn({}, text);
    },
    watch(wanted) {
      interest = wanted;
      session?.subscription?.want(wanted);
    },
    freshUntil: offers.freshUntil,
    scope: offers.scope,
    async refresh(kind) {
      await session?.rereads.refresh(kind);
    },
    start,
    stop,
    async close() {
      closing = true;
      await stop(false);
    },
    async ready() {
      if (running) return running;
      // An instance of a session that ended, or is about to, makes room for another.
      const refused = own && !closing ? undefined : refusal();
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
  return server;
}
