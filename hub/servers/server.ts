import { createEmitter } from '#core';
import type { ServerConfig } from '#config';
import type { LaunchEvents } from '#runtimes';
import { type Asked, type Told, createLimitedLog } from '#upstream';
import { createGate } from './admission.ts';
import { createInstanceEnds } from './lifecycle/end-instance.ts';
import { whenRunning } from './lifecycle/ready.ts';
import { type Runner, createRunner } from './lifecycle/runner.ts';
import { createServerRecord } from './lifecycle/server-record.ts';
import { type ListKind, emptyListing, listKinds } from './listing/listing.ts';
import { createMemory } from './persisted-state.ts';
import { leftOutOf } from './listing/misfits.ts';
import { createOffers } from './listing/listing-cache.ts';
import type { Interest, Own, Server, ServerNeeds } from './server-types.ts';
import { type StartNeeds, launchServer, startServer } from './handshake/start.ts';

/**
 * One server. An instance of it that belongs to a session or to the clients of one era (`own`) is a server of
 * its own; that of a session is not restarted when it ends, but started by the next call.
 */
export function createServer(first: ServerConfig, needs: ServerNeeds, own?: Own): Server {
  const { clock } = needs;
  const log = needs.log.child({ server: first.name, ...(own && { instance: own.instance }) });
  const record = createServerRecord(
    {
      config: first,
      audience: own ? (own.isShared ? 'era' : 'session') : 'all',
      isInstance: own !== undefined,
    },
    { ...needs, log },
  );
  const { stderr } = record;
  const memory = createMemory(() => record.config, { ...needs, log }, own);
  const output = createLimitedLog(log, { clock });
  const listed = createEmitter<ListKind>();
  const notified = createEmitter<Told>();
  const asked = createEmitter<Asked>();
  const wrote = createEmitter<string>();
  const advice: string[] = [];
  const sharedGate = own?.isShared ? own.base.gate : undefined;
  const start = (): void => runner.dispatch({ type: 'start' });
  const gate =
    sharedGate ??
    createGate(first, {
      clock,
      // The failures of one session's instance must not refuse the calls of others.
      breaker: own ? undefined : needs.breakerOf?.(first),
      revive() {
        if (record.status.state === 'failed') start();
      },
    });
  let interest: Interest = { resources: [], tasks: [] };
  const offers = createOffers(own?.base.listing ?? emptyListing, {
    changed: listed.fire,
    leftOut: misfits => log.warn(leftOutOf(misfits), 'items are left out of the lists on /mcp'),
  });
  /** The listing is that of an earlier run of the hub. */
  let isRecalled = false;

  const events: LaunchEvents = {
    stderr(line) {
      stderr.add(line);
      wrote.fire(line);
      output.info({ stderr: line }, 'stderr');
    },
    progress(text) {
      log.info({}, text);
      runner.dispatch({ type: 'progress', text });
    },
  };

  const ends = createInstanceEnds(first.name, clock, (how, cause) => record.gone(how, cause));

  const starting: Omit<StartNeeds, 'variant'> = {
    ...needs,
    log,
    output,
    events,
    own,
    interest: () => interest,
    maxNotifications: () => record.config.maxNotifications,
    notified: notified.fire,
    asked: asked.fire,
    replace(kind, reading, isAnnounced) {
      offers.replace(kind, reading, isAnnounced);
      memory.keep(offers.listing, runner.current?.running.instance.identity);
    },
    announce: listed.fire,
    isCurrent: upstream => runner.current?.running.upstream === upstream,
    launching() {
      record.hasRun = false;
      stderr.clear();
    },
    opened: (instance, upstream) => void ends.failOnClose(instance, upstream),
  };

  const runner: Runner = createRunner({
    ...needs,
    log,
    record,
    ends,
    isExclusive: needs.isExclusive,
    isHeard: () =>
      interest.resources.length + interest.tasks.length > 0 || needs.instances.isHeard(server),
    host: {
      launch: (variant, signal) => startServer(record.config, { ...starting, variant }, signal),
      launchBeside: (config, variant, signal) =>
        launchServer(config, { ...starting, variant, launching() {} }, signal),
      onStarted(started) {
        record.hasRun = true;
        isRecalled = false;
        started.subscription?.want(interest);
        for (const kind of listKinds) offers.replace(kind, started.lists[kind]);
        started.rereads.begin();
        memory.began(started);
        memory.keep(offers.listing, started.running.instance.identity);
      },
      useConfig(config) {
        record.config = config;
        if (!sharedGate) gate.configure(config);
      },
      resetAdmission: () => gate.reset(),
      forgetHandle: () => memory.forget(),
    },
  });

  const server: Server = {
    get config() {
      return record.config;
    },
    changed: record.changed,
    listed: listed.event,
    notified: notified.event,
    asked: asked.event,
    wrote: wrote.event,
    gate,
    advice,
    get status() {
      return record.status;
    },
    get listing() {
      return offers.listing;
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
      runner.current?.subscription?.want(wanted);
    },
    freshUntil: offers.freshUntil,
    scope: offers.scope,
    misfits: offers.misfits,
    async recall() {
      const kept = await memory.recall();
      if (!kept || runner.current) return;
      isRecalled = true;
      offers.show(kept.listing);
      // Not awaited: the engine may be unreachable.
      void memory.isOutdated(kept).then(isOutdated => {
        if (isOutdated && isRecalled) offers.show(emptyListing);
      });
    },
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
      if (!sharedGate) gate.close();
      await Promise.all([runner.end({ type: 'close' }), memory.written()]);
    },
    // An instance of a session that has ended, or is about to, makes room for another.
    ready: async () =>
      runner.current?.running ??
      (await whenRunning(
        { clock, record, running: () => runner.current?.running, start },
        !own || record.closed !== undefined,
      )),
  };
  return server;
}
