import type { ServerConfig } from '#config';
import { HubError, createEmitter, messageOf } from '#core';
import type { Instance, LaunchEvents } from '#runtimes';
import { type Asked, type Told, type Upstream, createLimitedLog } from '#upstream';
import { goneError } from './failures.ts';
import { createGate } from './gate.ts';
import type { Life } from './life.ts';
import { type ListKind, emptyListing, listKinds } from './listing.ts';
import { createLoop } from './loop.ts';
import { createMemory } from './memory.ts';
import { leftOutOf } from './misfits.ts';
import { createOffers } from './offers.ts';
import { type ReadyNeeds, whenRunning } from './ready.ts';
import { createReconfiguring } from './reconfigure.ts';
import { closedFor, refusalOf } from './refusal.ts';
import type { Interest, Own, Server, ServerNeeds, ServerStatus } from './server.ts';
import { type StartNeeds, type Started, launchServer, startServer } from './start.ts';
import { createStatusLog } from './status-log.ts';
import { createStderrRing, lastWordsOf } from './stderr-ring.ts';

/** How long the exit of a process may come after the end of its stdout, to be named in errors. */
const exitNoticeMs = 1_000;

/**
 * One server, which a loop takes from state to state. One that a session has for itself (`own`) is not started
 * again when it ends, but by the next call.
 */
export function createServer(first: ServerConfig, needs: ServerNeeds, own?: Own): Server {
  const { clock, redact = text => text } = needs;
  const { name } = first;
  let config = first;
  const log = needs.log.child({ server: name, ...(own && { instance: own.instance }) });
  const memory = createMemory(() => config, { ...needs, log }, own);
  const output = createLimitedLog(log, { clock });
  /** One that several clients share is restarted as any other. */
  const isOwn = own !== undefined && !own.isShared;
  const logStatus = createStatusLog(log, { clock, isOwn });
  const changed = createEmitter<ServerStatus>();
  const listed = createEmitter<ListKind>();
  const notified = createEmitter<Told>();
  const asked = createEmitter<Asked>();
  const wrote = createEmitter<string>();
  const advice: string[] = [];
  const stderr = createStderrRing(clock, redact);
  let status: ServerStatus = { state: 'stopped', byHand: false };
  const sharedGate = own?.isShared ? own.base.gate : undefined;
  const gate =
    sharedGate ??
    createGate(config, {
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
  const offers = createOffers(own?.base.listing ?? emptyListing, {
    changed: listed.fire,
    leftOut: misfits => log.warn(leftOutOf(misfits), 'items are left out of the lists on /mcp'),
  });
  /** What it offers is what it offered in an earlier run of the hub. */
  let isRecalled = false;
  let lastError: Server['lastError'];
  let closed: HubError | undefined;
  /** Whoever stopped it last wants it to stay so. */
  let isByHand = false;
  /** The instance that was launched last has come up. */
  let hasRun = false;

  function become(next: ServerStatus): void {
    status = next;
    const running = loop.life?.running;
    logStatus(next, running ? { ...running.instance.about, era: running.introduction.era } : {});
    changed.fire(next);
  }

  function failed(error: unknown): string {
    const message = redact(messageOf(error));
    lastError = { at: clock.now(), message, stderr: stderr.text() };
    if (own) failure = error instanceof HubError ? error : gone(message, error);
    return message;
  }

  const events: LaunchEvents = {
    stderr(line) {
      stderr.add(line);
      wrote.fire(line);
      output.info({ stderr: line }, 'stderr');
    },
    progress(text) {
      log.info({}, text);
      if (status.state === 'starting') become({ ...status, progress: text });
    },
  };

  const starting: Omit<StartNeeds, 'variant'> = {
    ...needs,
    log,
    output,
    events,
    own,
    interest: () => interest,
    maxNotifications: () => config.maxNotifications,
    notified: notified.fire,
    asked: asked.fire,
    replace(kind, reading, isAnnounced) {
      offers.replace(kind, reading, isAnnounced);
      memory.keep(offers.listing, loop.life?.running.instance.identity);
    },
    announce: listed.fire,
    isCurrent: upstream => loop.life?.running.upstream === upstream,
    launching() {
      hasRun = false;
      stderr.clear();
    },
    opened: (instance, upstream) => void failWhenGone(instance, upstream),
  };

  /** Answers every request in flight when the channel ends, and says how the server ended. */
  async function failWhenGone(instance: Instance, upstream: Upstream): Promise<void> {
    const { reason, error } = await instance.channel.closed;
    const late = Promise.withResolvers<undefined>();
    using _timer = clock.after(exitNoticeMs, () => late.resolve(undefined));
    const exit = await Promise.race([instance.exited, late.promise]);
    upstream.fail(gone(exit?.detail ?? reason, error));
  }

  function gone(how: string, cause: unknown): HubError {
    return goneError(name, how, lastWordsOf(stderr, hasRun), cause);
  }

  function took(life: Life, started: Started): void {
    hasRun = true;
    isRecalled = false;
    life.subscription?.want(interest);
    for (const kind of listKinds) offers.replace(kind, started.lists[kind]);
    life.rereads.begin();
    memory.began(started);
    memory.keep(offers.listing, started.running.instance.identity);
  }

  const loop = createLoop({
    ...needs,
    log,
    config: () => config,
    isOwn,
    become,
    start: (signal, variant) => startServer(config, { ...starting, variant }, signal),
    startBeside: (next, signal, variant) =>
      launchServer(next, { ...starting, variant, launching() {} }, signal),
    took,
    forget: () => memory.forget(),
    gone,
    stderr: () => stderr.text(),
    failed,
    isHeard: () =>
      interest.resources.length + interest.tasks.length > 0 || needs.instances.isHeard(server),
    idle() {
      log.info({}, 'had nothing to do for its "idle_stop": it is stopped until it is called');
      // Whoever calls it meanwhile waits for the next instance.
      void end(true);
    },
  });

  function start(): void {
    if (closed) return;
    isByHand = false;
    loop.begin();
  }

  async function end(hasEnded: boolean): Promise<void> {
    const wasGoing = loop.isGoing;
    const over = loop.end();
    if (wasGoing) become({ state: 'stopping', since: clock.now(), hasEnded });
    await over;
    // What it lost the connection to, and waits for, is not waited for any more.
    if (!loop.isGoing) await memory.forget();
    // Somebody may have started it again meanwhile.
    if (!loop.isGoing) become({ state: 'stopped', byHand: isByHand });
  }

  function configure(next: ServerConfig): void {
    config = next;
    if (!sharedGate) gate.configure(next);
    loop.configure();
  }

  const refusal = () =>
    closed ??
    (own && status.state === 'failed'
      ? failure
      : refusalOf(config, status, stderr.text(), clock.monotonic()));

  const waiting: ReadyNeeds = {
    clock,
    config: () => config,
    changed: changed.event,
    status: () => status,
    running: () => loop.life?.running,
    refusal,
    start,
  };

  // An instance of a session that ended, or is about to, makes room for another.
  const ready = async () =>
    loop.life?.running ?? (await whenRunning(waiting, !own || closed !== undefined));

  const reconfiguring = createReconfiguring({
    clock,
    config: () => config,
    status: () => status,
    loop,
    gate,
    isOwn: own !== undefined,
    isClosed: () => closed !== undefined,
    configure,
    isExclusive: one => needs.isExclusive?.(one) ?? false,
    start,
    stop: () => end(false),
    ready,
    stderr: () => stderr.text(),
    redact,
  });

  const server: Server = {
    get config() {
      return config;
    },
    changed: changed.event,
    listed: listed.event,
    notified: notified.event,
    asked: asked.event,
    wrote: wrote.event,
    gate,
    advice,
    get status() {
      return status;
    },
    get listing() {
      return offers.listing;
    },
    get running() {
      return loop.life?.running;
    },
    get health() {
      return loop.life?.health;
    },
    get restarts() {
      return loop.restarts;
    },
    get instances() {
      return needs.instances.count(server);
    },
    get lastError() {
      return lastError;
    },
    get refusedEntry() {
      return reconfiguring.refusedEntry;
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
      loop.life?.subscription?.want(wanted);
    },
    freshUntil: offers.freshUntil,
    scope: offers.scope,
    misfits: offers.misfits,
    async recall() {
      const kept = await memory.recall();
      if (!kept || loop.life) return;
      isRecalled = true;
      offers.show(kept.listing);
      // Nobody waits for the engine, which may be away.
      void memory.isOutdated(kept).then(isOutdated => {
        if (isOutdated && isRecalled) offers.show(emptyListing);
      });
    },
    async refresh(kind) {
      await loop.life?.rereads.refresh(kind);
    },
    start,
    stop(byHand) {
      isByHand = byHand;
      return end(false);
    },
    reconfigure: reconfiguring.reconfigure,
    get closed() {
      return closed;
    },
    async close(why) {
      closed ??= closedFor(name, why);
      if (!sharedGate) gate.close();
      await Promise.all([end(false), memory.written()]);
    },
    ready,
  };
  return server;
}
