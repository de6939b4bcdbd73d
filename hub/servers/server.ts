import type { ServerConfig } from '#config';
import { type Log, createEmitter } from '#core';
import { type ServerNotification, type ServerRequest, createLimitedLog } from '#upstream';
import { createAdmission } from './admission.ts';
import { strayMark } from './failures.ts';
import { failOnClose } from './lifecycle/instance-pool.ts';
import { type Runner, createRunner } from './lifecycle/runner.ts';
import { createServerRecord, whenRunning } from './lifecycle/server-record.ts';
import { createHolds } from './listing/holds.ts';
import { createListingCache, leftOutOf } from './listing/listing-cache.ts';
import { type ListKind, byKind, emptyListing, listKinds } from './listing/listing.ts';
import { createPersistedState } from './persisted-state.ts';
import { createRunLog } from './run-log.ts';
import type { Interest, Own, Server, ServerNeeds } from './server-types.ts';

/**
 * Creates a server. An instance for a session or for the clients of one era (`own`) is a server of its own; that of a
 * session is not restarted when it ends, but started by the next call.
 */
export function createServer(first: ServerConfig, needs: ServerNeeds, own?: Own): Server {
  const parts = createParts(first, needs, own, () => runner);
  const { record, events, cache, holds, persisted, admission } = parts;
  const runner: Runner = createRunner({
    record,
    persisted,
    start: startNeedsOf(parts),
    isExclusive: needs.launches?.isExclusive,
    prepare: needs.launches?.prepare,
    isHeard: () => events.isHeard() || needs.instances.isHeard(server),
    onStarted(started) {
      record.hasRun = true;
      started.subscription?.want(events.interest);
      const { instructions } = started.running.serverInfo;
      holds.seen(
        byKind(kind => started.lists[kind].items),
        instructions,
      );
      holds.instructed(instructions);
      for (const kind of listKinds) cache.replace(kind, started.lists[kind]);
      started.rereads.begin();
      persisted.onStarted(started);
      persisted.keep(cache.listing, started.running.instance.identity);
      // The config may have changed since the launch: apply its current list of allowed hosts.
      void needs.launches?.egress?.apply(record.config);
    },
    useConfig(config) {
      record.config = config;
      // Advice on the old entry may not apply to the new one.
      parts.advice.advice.length = 0;
      if (parts.ownsAdmission) admission.configure(config);
      parts.review();
    },
    resetAdmission: () => admission.reset(),
  });
  const server = serverOf(parts);
  return server;
}

type Parts = ReturnType<typeof createParts>;

function createParts(
  first: ServerConfig,
  needs: ServerNeeds,
  own: Own | undefined,
  runner: () => Runner,
) {
  const log = needs.log.child({ server: first.name, ...(own && { instance: own.instance }) });
  const audience = own ? (own.isShared ? 'era' : 'session') : 'all';
  const record = createServerRecord(first, audience, { ...needs, log });
  const runLog = createRunLog(needs.launches?.logs?.server(first.name), own?.instance);
  record.changed(status => runLog.changed(status));
  const events = createServerEvents();
  const holds = createHolds(() => record.config, needs.launches?.definitions);
  const cache = createListingCache(own?.base.listing ?? emptyListing, {
    changed: events.listed.fire,
    mark: (kind, items) => holds.mark(kind, items),
    leftOut: misfits => log.warn(leftOutOf(misfits), 'items are left out of the lists on /mcp'),
  });
  const persisted = createPersistedState(() => record.config, needs.launches ?? {}, log, own);
  // An instance of an era shares the limits and the breaker of the configured server.
  const shared = own?.isShared ? own.base.admission : undefined;
  const admission =
    shared ??
    createAdmission(first, {
      clock: needs.clock,
      // Failures of the instance of one session must not open the breaker for other sessions.
      breaker: own ? undefined : needs.breakerOf?.(first),
      revive() {
        if (record.status.state === 'failed') runner().dispatch({ type: 'start' });
      },
    });
  const ownsAdmission = !shared;
  /** Compares the known lists and instructions with the pinned definitions again. */
  function review(): void {
    const running = runner().current?.running;
    if (running) {
      const { instructions } = running.serverInfo;
      holds.seen(cache.listing, instructions);
      holds.instructed(instructions);
    }
    cache.remark();
  }
  const heard = holds.hear(review);
  const advice = createAdvice(own, log);
  const upkeep = { review, unhear: () => heard?.[Symbol.dispose]() };
  const state = {
    advice,
    record,
    runLog,
    events,
    cache,
    holds,
    persisted,
    admission,
    ownsAdmission,
  };
  return { needs, own, log, ...state, ...upkeep, runner };
}

function createServerEvents() {
  const nothing: Interest = { resources: [], tasks: [] };
  const events = {
    listed: createEmitter<ListKind>(),
    notified: createEmitter<ServerNotification>(),
    serverRequest: createEmitter<ServerRequest>(),
    wrote: createEmitter<string>(),
    interest: nothing,
    isHeard: (): boolean => events.interest.resources.length + events.interest.tasks.length > 0,
  };
  return events;
}

function startNeedsOf(parts: Parts): Parameters<typeof createRunner>[0]['start'] {
  const { needs, own, log, record, runLog, events, cache, holds, persisted, runner } = parts;
  const output = createLimitedLog(log, needs);
  const wrote = (line: string) => {
    record.stderr.add(line);
    runLog.wrote(line);
    events.wrote.fire(line);
  };
  return {
    hub: needs,
    own,
    log,
    output,
    events: {
      stderr(line) {
        wrote(line);
        output.info({ stderr: line }, 'stderr');
      },
      progress(text) {
        log.info({}, text);
        runLog.progress(text);
        runner().dispatch({ type: 'progress', text });
      },
      advice: text => parts.advice.advise(text),
      stray: text => wrote(`${strayMark}${text}`),
      gone: record.gone,
    },
    client: {
      interest: () => events.interest,
      maxNotifications: () => record.config.maxNotifications,
      notified: events.notified.fire,
      serverRequest: events.serverRequest.fire,
    },
    lists: {
      replace(kind, reading, isAnnounced) {
        const { instructions } = runner().current?.running.serverInfo ?? {};
        holds.seen({ ...cache.listing, [kind]: reading.items }, instructions);
        cache.replace(kind, reading, isAnnounced);
        persisted.keep(cache.listing, runner().current?.running.instance.identity);
      },
      announce: events.listed.fire,
      isCurrent: upstream => runner().current?.running.upstream === upstream,
    },
    launching(how) {
      runLog.launching(how);
      record.hasRun = false;
      record.stderr.clear();
    },
    opened(instance, upstream) {
      runLog.opened(instance);
      void failOnClose(instance, upstream, needs.clock, record.gone);
    },
  };
}

function serverOf(parts: Parts): Server {
  const { needs, own, record, events, cache, holds, persisted, admission } = parts;
  const runner = parts.runner();
  const start = () => runner.dispatch({ type: 'start' });
  const running = () => runner.current?.running;
  const server: Server = {
    get config() {
      return record.config;
    },
    changed: record.changed,
    listed: events.listed.event,
    notified: events.notified.event,
    serverRequest: events.serverRequest.event,
    wrote: events.wrote.event,
    admission,
    ...parts.advice,
    get status() {
      return record.status;
    },
    get listing() {
      return cache.listing;
    },
    get running() {
      return running();
    },
    get health() {
      return runner.current?.health;
    },
    get restarts() {
      return runner.restarts;
    },
    get instances() {
      return needs.instances.count(server);
    },
    get egress() {
      return needs.launches?.egress?.report(record.config.name);
    },
    get lastError() {
      return record.lastError;
    },
    get refusedEntry() {
      return runner.refusedEntry;
    },
    get closed() {
      return record.closed;
    },
    stderr: () => record.stderr.text(),
    watch(interest) {
      events.interest = interest;
      runner.current?.subscription?.want(interest);
    },
    freshUntil: cache.freshUntil,
    scope: cache.scope,
    misfits: cache.misfits,
    get held() {
      return holds.keys;
    },
    get mayHold() {
      return holds.mayHold;
    },
    holds(kind, name, bytes) {
      const known = cache.find(kind, name);
      const isHeld = holds.holds(kind, name, bytes, known);
      // The server has a definition that the hub has not read yet.
      if (isHeld && !known?.isHeld) void server.refresh(kind);
      return isHeld;
    },
    recall: () => recall(parts),
    async refresh(kind) {
      await runner.current?.rereads.refresh(kind);
    },
    start,
    stop: byHand => runner.end({ type: 'stop', byHand }),
    reconfigure: runner.reconfigure,
    async close(why) {
      record.close(why);
      parts.unhear();
      if (parts.ownsAdmission) admission.close();
      await Promise.all([runner.end({ type: 'close' }), persisted.written()]);
    },
    // An instance (`own`) that has failed is started again by the next call, unless it is closed.
    ready: async () =>
      running() ??
      (await whenRunning(
        { clock: needs.clock, record, running, start },
        !own || record.closed !== undefined,
      )),
  };
  return server;
}

function createAdvice(own: Own | undefined, log: Log) {
  const advice: string[] = [];
  return {
    advice,
    advise(text: string): void {
      if (own) return own.base.advise(text);
      if (advice.includes(text)) return;
      advice.push(text);
      log.warn({}, text);
    },
  };
}

async function recall({ cache, persisted, runner }: Parts): Promise<void> {
  const kept = await persisted.recall();
  if (!kept || runner().current) return;
  cache.show(kept.listing);
  // Not awaited, as the engine may be unreachable.
  void persisted.isOutdated(kept).then(isOutdated => {
    if (isOutdated) cache.show(emptyListing);
  });
}
