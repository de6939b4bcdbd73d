import { setTimeout as delay } from 'node:timers/promises';
import { HubError, createEmitter, messageOf } from '#core';
import type { ServerConfig } from '#config';
import type { Instance, LaunchEvents } from '#runtimes';
import type { Asked, Told } from './caller.ts';
import { goneError, startFailure } from './failures.ts';
import { createLimitedLog } from './limited-log.ts';
import { createGate } from './gate.ts';
import { createLeaving } from './leaving.ts';
import { type Life, createLife } from './life.ts';
import { type ListKind, emptyListing, emptyReading, listKinds } from './listing.ts';
import { createMemory } from './memory.ts';
import { createOffers } from './offers.ts';
import { type ReadyNeeds, whenRunning } from './ready.ts';
import { refusalOf } from './refusal.ts';
import { createRestarts } from './restarts.ts';
import type { Interest, Own, Server, ServerNeeds, ServerStatus } from './server.ts';
import {
  type StartNeeds,
  type Started,
  graceMs,
  launchServer,
  nextVariant,
  startServer,
} from './start.ts';
import { createStatusLog } from './status-log.ts';
import { createStderrRing, lastWordsOf } from './stderr-ring.ts';
import type { Upstream } from './upstream.ts';
import { aborted } from './within.ts';

/** How long the exit of a process may come after the end of its stdout, to be named in errors. */
const exitNoticeMs = 1_000;

/**
 * Supervises one server: a single loop takes it from state to state, one step at a time. One that a session
 * has for itself (`own`) is not started again when it ends, but by the next call.
 */
export function createServer(first: ServerConfig, needs: ServerNeeds, own?: Own): Server {
  const { clock } = needs;
  const { name } = first;
  let config = first;
  const memory = createMemory(() => config, needs, own);
  const log = needs.log.child({ server: name, ...(own && { instance: own.instance }) });
  const output = createLimitedLog(log, { clock });
  const logStatus = createStatusLog(log, { clock, isOwn: own !== undefined });
  const changed = createEmitter<ServerStatus>();
  const listed = createEmitter<ListKind>();
  const notified = createEmitter<Told>();
  const asked = createEmitter<Asked>();
  const advice: string[] = [];
  const stderr = createStderrRing(clock);
  let status: ServerStatus = { state: 'stopped', byHand: false };
  /** The instance that runs. */
  let life: Life | undefined;
  /** Ends the wait for the end of an instance that another has taken the place of. */
  let replaced = () => {};
  /** Instances that answer what they were asked before another took their place. */
  const leaving = createLeaving(needs);
  let policy = createRestarts(config, needs);
  const gate = createGate(config, {
    clock,
    // One session's own trouble is no reason to refuse the others.
    breaker: own ? undefined : needs.breakerOf?.(config),
    revive() {
      if (status.state === 'failed') start();
    },
  });
  let interest: Interest = { resources: [], tasks: [] };
  /** What those are told that wait for an instance of a session. */
  let failure: HubError | undefined;
  const offers = createOffers(own?.base.listing ?? emptyListing, listed.fire);
  let restarts = 0;
  let lastError: Server['lastError'];
  let closing = false;
  /** The instance that was launched last has come up. */
  let hasRun = false;
  /** The loop in force, and how to end it. */
  let loop: { readonly end: AbortController; readonly over: Promise<void> } | undefined;

  function become(next: ServerStatus): void {
    status = next;
    const running = life?.running;
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

  let startNeeds: StartNeeds = {
    ...needs,
    log,
    output,
    events,
    own,
    variant: undefined,
    resumed: variant => void (startNeeds = { ...startNeeds, variant }),
    interest: () => interest,
    notified: notified.fire,
    asked: asked.fire,
    replace(kind, reading) {
      offers.replace(kind, reading);
      memory.keep(offers.listing);
    },
    isCurrent: upstream => life?.running.upstream === upstream,
    launching() {
      hasRun = false;
      stderr.clear();
    },
    opened: (instance, upstream) => void failWhenGone(instance, upstream),
  };

  /** From here on what was started is the instance that runs. */
  function take(started: Started): Life {
    const next = createLife(() => config, started, { ...needs, log });
    life = next;
    hasRun = true;
    next.subscription?.want(interest);
    for (const kind of listKinds) offers.replace(kind, started.lists[kind]);
    next.rereads.begin();
    memory.keep(offers.listing);
    become({ state: 'running', since: clock.now() });
    return next;
  }

  /** From here on nobody may be handed the instance that is about to end, or has ended. */
  function letGo(): void {
    life?.letGo();
    life = undefined;
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

  const lastWords = () => lastWordsOf(stderr, hasRun);
  const gone = (how: string, cause?: Error) => goneError(name, how, lastWords(), cause);

  /** The end of what runs, or of what has taken its place by then; undefined where it is to be stopped. */
  async function endOf(begun: Life, stopRequested: Promise<void>) {
    for (let current = begun; ;) {
      const swapped = Promise.withResolvers<void>();
      replaced = swapped.resolve;
      const ending = await Promise.race([
        current.ended,
        swapped.promise.then(() => 'replaced' as const),
        stopRequested.then(() => undefined),
      ]);
      if (ending !== 'replaced') return { current, ending };
      if (life) current = life;
    }
  }

  async function supervise(signal: AbortSignal): Promise<void> {
    policy = createRestarts(config, needs);
    const stopRequested = aborted(signal);
    while (!signal.aborted) {
      let error: unknown;
      let isClean = false;
      become({ state: 'starting', since: clock.now(), progress: 'launching' });
      try {
        const begun = take(await startServer(config, startNeeds, signal));
        const { current, ending } = await endOf(begun, stopRequested);
        const { instance, upstream } = current.running;
        letGo();
        if (signal.aborted || !ending) {
          upstream.fail(goneError(name, 'it was stopped', { quoted: '', stderr: '' }, undefined));
          await instance.stop({ graceMs });
          await memory.forget();
          return;
        }
        // It does not run any more, while what is left of it is removed.
        become({ state: 'stopping', since: clock.now(), hasEnded: true });
        const exit = await instance.stop({ graceMs: 0 });
        if (!exit.lost) await memory.forget();
        // A stop that came meanwhile says itself how it ends.
        if (signal.aborted) return;
        const ended = exit.lost
          ? new HubError('HUB_ENGINE_UNREACHABLE', `${name} is out of reach: ${exit.detail}`, {
              data: { server: name, retryable: true },
            })
          : gone(ending.died ?? exit.detail, ending.cause);
        upstream.fail(ended);
        error = ended;
        isClean = exit.code === 0 && ending.died === undefined;
        policy.ran(clock.monotonic() - current.since);
      } catch (caught) {
        if (signal.aborted) return;
        error = startFailure(name, caught, stderr.text());
      }
      const why = failedWith(error);
      if (own) {
        failure = error instanceof HubError ? error : goneError(name, why, lastWords(), error);
        become({ state: 'failed', since: clock.now(), why });
        // Whoever asks for it from here on starts another loop.
        loop?.end.abort();
        become({ state: 'stopped', byHand: false });
        return;
      }
      const { status: next, delayMs, counts } = policy.after(error, why, isClean);
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
      become({ state: 'stopping', since: clock.now(), hasEnded: false });
      await Promise.all([ending.over, leaving.end()]);
    }
    // What it lost the connection to, and waits for, is not waited for any more.
    if (!loop) await memory.forget();
    // Somebody may have started it again meanwhile.
    if (!loop) become({ state: 'stopped', byHand });
  }

  function configure(next: ServerConfig): void {
    config = next;
    policy = createRestarts(next, needs);
    gate.configure(next);
  }

  /** Has another config in force; resolves when what runs is launched as it says. */
  async function reconfigure(next: ServerConfig, isReplaced: boolean): Promise<void> {
    if (closing) return;
    const current = life;
    if (!isReplaced || !current || !loop) {
      configure(next);
      if (!isReplaced || status.state === 'stopped') return;
      // What failed, or waits to be started again, begins anew with what it has now.
      await stop(false);
      if (next.enabled && next.autoStart) start();
      return;
    }
    if ([next, config].some(one => needs.isExclusive?.(one))) {
      await leaving.drained(current.running.upstream);
      await stop(false);
      configure(next);
      start();
      await server.ready();
      return;
    }
    await leaving.end();
    const variant = startNeeds.variant === undefined ? nextVariant : undefined;
    const beside = { ...startNeeds, variant, launching() {} };
    const { signal } = loop.end;
    const started = await launchServer(next, beside, signal);
    if (signal.aborted || life !== current) {
      started.subscription?.stop();
      await started.running.instance.stop({ graceMs });
      throw new HubError('HUB_SERVER_STOPPED', `${name} ended while it was replaced`, {
        data: { server: name, retryable: true },
      });
    }
    configure(next);
    startNeeds = { ...startNeeds, variant };
    current.letGo();
    take(started);
    replaced();
    leaving.add(current.running);
  }

  const refusal = () =>
    closing
      ? new HubError('HUB_SHUTTING_DOWN', `${name} is not started: the hub is stopping`, {
          data: { server: name, retryable: true },
        })
      : own && status.state === 'failed'
        ? failure
        : refusalOf(config, status, stderr.text(), clock.now());

  const waiting: ReadyNeeds = {
    clock,
    config: () => config,
    changed: changed.event,
    status: () => status,
    running: () => life?.running,
    refusal,
    start,
  };

  const server: Server = {
    get config() {
      return config;
    },
    changed: changed.event,
    listed: listed.event,
    notified: notified.event,
    asked: asked.event,
    gate,
    advice,
    get status() {
      return status;
    },
    get listing() {
      return offers.listing;
    },
    get running() {
      return life?.running;
    },
    get health() {
      return life?.health;
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
      life?.subscription?.want(wanted);
    },
    freshUntil: offers.freshUntil,
    scope: offers.scope,
    async recall() {
      const kept = await memory.recall();
      if (!kept || life) return;
      for (const kind of listKinds) offers.replace(kind, { ...emptyReading, items: kept[kind] });
    },
    async refresh(kind) {
      await life?.rereads.refresh(kind);
    },
    start,
    stop,
    reconfigure,
    async close() {
      closing = true;
      gate.close();
      await stop(false);
    },
    ready: async () =>
      // An instance of a session that ended, or is about to, makes room for another.
      life?.running ?? (await whenRunning(waiting, !own || closing)),
  };
  return server;
}
