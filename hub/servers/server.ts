import type { ServerConfig } from '#config';
import { type Log, createEmitter } from '#core';
import { type ServerRequest, type ServerNotification, createLimitedLog } from '#upstream';
import { type Admission, createAdmission } from './admission.ts';
import { launchServer, startServer } from './handshake/start.ts';
import type { ClientSide, StartNeeds } from './handshake/start-types.ts';
import { createInstanceEnds } from './lifecycle/end-instance.ts';
import { whenRunning } from './lifecycle/ready.ts';
import { type Runner, type RunnerHost, createRunner } from './lifecycle/runner.ts';
import { type ServerRecord, createServerRecord } from './lifecycle/server-record.ts';
import { type ListingCache, createListingCache } from './listing/listing-cache.ts';
import { type ListKind, emptyListing, listKinds } from './listing/listing.ts';
import { leftOutOf } from './listing/misfits.ts';
import { type PersistedState, createPersistedState } from './persisted-state.ts';
import type { Interest, Own, Server, ServerNeeds } from './server-types.ts';

/** What the functions of this file share about one server. */
type Parts = {
  readonly needs: ServerNeeds;
  readonly own: Own | undefined;
  readonly log: Log;
  readonly record: ServerRecord;
  readonly events: ReturnType<typeof createServerEvents>;
  readonly cache: ListingCache;
  readonly persisted: PersistedState;
  readonly admission: Admission;
  readonly runner: () => Runner;
  readonly ends: ReturnType<typeof createInstanceEnds>;
};

/**
 * One server. An instance of it that belongs to a session or to the clients of one era (`own`) is a server of
 * its own; that of a session is not restarted when it ends, but started by the next call.
 */
export function createServer(first: ServerConfig, needs: ServerNeeds, own?: Own): Server {
  const { clock } = needs;
  const log = needs.log.child({ server: first.name, ...(own && { instance: own.instance }) });
  const audience = own ? (own.isShared ? 'era' : 'session') : 'all';
  const record = createServerRecord(first, audience, { ...needs, log });
  const events = createServerEvents();
  const parts: Parts = {
    needs,
    own,
    log,
    record,
    events,
    cache: createListingCache(own?.base.listing ?? emptyListing, {
      changed: events.listed.fire,
      leftOut: misfits => log.warn(leftOutOf(misfits), 'items are left out of the lists on /mcp'),
    }),
    persisted: createPersistedState(() => record.config, { ...needs, log }, own),
    admission:
      sharedAdmissionOf(own) ??
      createAdmission(first, {
        clock,
        // The failures of one session's instance must not refuse the calls of others.
        breaker: own ? undefined : needs.breakerOf?.(first),
        revive() {
          if (record.status.state === 'failed') runner.dispatch({ type: 'start' });
        },
      }),
    runner: () => runner,
    ends: createInstanceEnds(first.name, clock, (how, cause) => record.gone(how, cause)),
  };
  const runner: Runner = createRunner({
    ...needs,
    log,
    record,
    ends: parts.ends,
    isExclusive: needs.isExclusive,
    isHeard: () => events.isHeard() || needs.instances.isHeard(server),
    host: runnerHostOf(parts, startNeedsOf(parts)),
  });
  const server = serverOf(parts);
  return server;
}

/** The admission of the configured server, if its clients share it with this instance. */
const sharedAdmissionOf = (own: Own | undefined): Admission | undefined =>
  own?.isShared ? own.base.admission : undefined;

function createServerEvents() {
  const events = {
    listed: createEmitter<ListKind>(),
    notified: createEmitter<ServerNotification>(),
    serverRequest: createEmitter<ServerRequest>(),
    wrote: createEmitter<string>(),
    interest: emptyInterest,
    isHeard: () => events.interest.resources.length + events.interest.tasks.length > 0,
  };
  return events;
}

const emptyInterest: Interest = { resources: [], tasks: [] };

function startNeedsOf({
  needs,
  own,
  log,
  record,
  events,
  cache,
  persisted,
  runner,
  ends,
}: Parts): Omit<StartNeeds, 'variant'> {
  const output = createLimitedLog(log, needs);
  const client: ClientSide = {
    interest: () => events.interest,
    maxNotifications: () => record.config.maxNotifications,
    notified: events.notified.fire,
    serverRequest: events.serverRequest.fire,
  };
  return {
    hub: needs,
    own,
    log,
    output,
    events: {
      stderr(line) {
        record.stderr.add(line);
        events.wrote.fire(line);
        output.info({ stderr: line }, 'stderr');
      },
      progress(text) {
        log.info({}, text);
        runner().dispatch({ type: 'progress', text });
      },
    },
    client,
    lists: {
      replace(kind, reading, isAnnounced) {
        cache.replace(kind, reading, isAnnounced);
        persisted.keep(cache.listing, runner().current?.running.instance.identity);
      },
      announce: events.listed.fire,
      isCurrent: upstream => runner().current?.running.upstream === upstream,
    },
    launching() {
      record.hasRun = false;
      record.stderr.clear();
    },
    opened: (instance, upstream) => void ends.failOnClose(instance, upstream),
  };
}

function runnerHostOf(
  { own, record, events, cache, persisted, admission }: Parts,
  needs: Omit<StartNeeds, 'variant'>,
): RunnerHost {
  return {
    launch: (variant, signal) => startServer(record.config, { ...needs, variant }, signal),
    launchBeside: (config, variant, signal) =>
      launchServer(config, { ...needs, variant, launching() {} }, signal),
    onStarted(started) {
      record.hasRun = true;
      started.subscription?.want(events.interest);
      for (const kind of listKinds) cache.replace(kind, started.lists[kind]);
      started.rereads.begin();
      persisted.onStarted(started);
      persisted.keep(cache.listing, started.running.instance.identity);
    },
    useConfig(config) {
      record.config = config;
      if (!sharedAdmissionOf(own)) admission.configure(config);
    },
    resetAdmission: () => admission.reset(),
    forgetHandle: () => persisted.forgetHandle(),
  };
}

function serverOf({
  needs,
  own,
  log,
  record,
  events,
  cache,
  persisted,
  admission,
  ...parts
}: Parts) {
  const runner = parts.runner();
  const start = () => runner.dispatch({ type: 'start' });
  const { advice, advise } = createAdvice(own, log);
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
    advice,
    get status() {
      return record.status;
    },
    get listing() {
      return cache.listing;
    },
    get running() {
      return runner.current?.running;
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
    get lastError() {
      return record.lastError;
    },
    get refusedEntry() {
      return runner.refusedEntry;
    },
    stderr: () => record.stderr.text(),
    advise,
    watch(interest) {
      events.interest = interest;
      runner.current?.subscription?.want(interest);
    },
    freshUntil: cache.freshUntil,
    scope: cache.scope,
    misfits: cache.misfits,
    recall: () => recall(cache, persisted, runner),
    async refresh(kind) {
      await runner.current?.rereads.refresh(kind);
    },
    start,
    stop: byHand => runner.end({ type: 'stop', byHand }),
    reconfigure: runner.reconfigure,
    get closed() {
      return record.closed;
    },
    async close(why) {
      record.close(why);
      if (!sharedAdmissionOf(own)) admission.close();
      await Promise.all([runner.end({ type: 'close' }), persisted.written()]);
    },
    // An instance of a session that has ended, or is about to, makes room for another.
    ready: async () =>
      runner.current?.running ??
      (await whenRunning(
        { clock: needs.clock, record, running: () => runner.current?.running, start },
        !own || record.closed !== undefined,
      )),
  };
  return server;
}

function createAdvice(own: Own | undefined, log: Log) {
  const advice: string[] = [];
  return {
    advice,
    advise: (text: string): void => {
      if (own) return own.base.advise(text);
      if (advice.includes(text)) return;
      advice.push(text);
      log.warn({}, text);
    },
  };
}

async function recall(
  cache: ListingCache,
  persisted: PersistedState,
  runner: Runner,
): Promise<void> {
  const kept = await persisted.recall();
  if (!kept || runner.current) return;
  cache.show(kept.listing);
  // Not awaited: the engine may be unreachable.
  void persisted.isOutdated(kept).then(isOutdated => {
    if (isOutdated) cache.show(emptyListing);
  });
}
