import type { PackageSpec, ServerConfig } from '#config';
import { type Clock, HubError, type JsonObject } from '#core';
import type { DefinitionPins } from '#definitions';
import type { Belonging, ImagePruning } from '#runtimes';
import type { Table } from '#store';
import { type BelongingsNeeds, belongingsOf, createUnfinished, keyOf } from '../belongings.ts';
import type { InstallsNeeds } from '../installs.ts';
import { packageKeyOf } from '../pins.ts';
import { requireConfig } from '../removal.ts';
import type { InstallProgress } from '../request.ts';
import type { Trial } from '../trial.ts';
import { besideOf, isOfTrial } from './beside.ts';
import { requireOnlyPackage, valuesFor } from './entry-values.ts';
import { findOutdated, packageOf } from './outdated.ts';
import { type UpgradePlan, describePlan, requireAccepted } from './plan.ts';
import { pruneImages } from './prune.ts';
import { type RollbackStep, createRollbacks } from './rollbacks.ts';
import { type Work, createTurns } from './turns.ts';
import { compareVersions, splitSpec, withVersion } from './versions.ts';

/** Changes the versions of servers, and removes images that are no longer needed. */
export type Upgrades = ReturnType<typeof createUpgrades>;

export type UpgradesNeeds = Pick<InstallsNeeds, 'log' | 'pins' | 'trial' | 'stored' | 'servers'> & {
  readonly belongings: BelongingsNeeds & Pick<InstallsNeeds, 'unfinished'>;
  readonly configFile: {
    /** Returns all servers in the file, also those that `--tags` excludes. */
    readonly configs: () => readonly ServerConfig[];
    /** Returns a server's entry from the config file; undefined if the entry is in another file. */
    readonly find: (name: string) => Promise<JsonObject | undefined>;
    /** Returns the config with changed values of an entry, without writing it. Rejects with HubError. */
    readonly preview: (name: string, values: JsonObject) => Promise<ServerConfig>;
    /**
     * Writes values of an entry. Resolves when they are active. If the server does not start with them, rejects with
     * HUB_SERVER_START_FAILED and restores the file.
     */
    readonly set: (name: string, values: JsonObject) => Promise<void>;
  };
  /** Compares and pins definitions. Absent: they are neither compared nor pinned. */
  readonly pinning?: Pick<DefinitionPins, 'compare' | 'accepted' | 'accept'>;
  readonly rollbacks: { readonly table: Table; readonly clock: Pick<Clock, 'now'> };
  /** Absent: there is no Docker engine, so there are no images. */
  readonly images?: {
    readonly pruning: ImagePruning;
    /** Returns the configs of running installs, whose images are needed. */
    readonly installing: () => readonly ServerConfig[];
  };
};

/** Result of the trial of a version. */
type Tried = {
  readonly config: ServerConfig;
  readonly next: ServerConfig;
  readonly values: JsonObject;
  readonly trial: Trial;
  readonly plan: UpgradePlan;
  /** Pins to store if the plan is accepted; undefined if definitions are not pinned. */
  readonly pins: RollbackStep['pins'];
};

export function createUpgrades(needs: UpgradesNeeds) {
  const { configFile, pinning } = needs;
  const log = needs.log.child({ part: 'upgrades' });
  const rollbacks = createRollbacks(needs.rollbacks.table);
  const turns = createTurns();
  /** Records the volumes of running trials, which the next run of the hub removes if this one is killed. */
  const unfinished = createUnfinished({ ...needs.belongings, configFile, log });
  /** Configs of versions in trial, by server. */
  const tried = new Map<string, ServerConfig>();

  /** Returns a server's config and package. Throws HUB_SERVER_UNKNOWN, or HUB_REQUEST_INVALID without a package. */
  function packaged(name: string) {
    const config = requireConfig(name, configFile.configs());
    const source = packageOf(config);
    if (source) return { config, source };
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `${name} is not an npm or PyPI package, so the hub knows no other version of it. Change its entry in the config`,
      { data: { server: name } },
    );
  }

  /** Builds and starts another version beside the running one, and stops it again. */
  async function attempt(
    name: string,
    to: PackageSpec,
    { begin, events, signal }: Work,
  ): Promise<Tried> {
    const { config, source: from } = packaged(name);
    const entry = await configFile.find(name);
    if (!entry)
      throw new HubError(
        'HUB_CONFIG_CONFLICT',
        `the entry of ${name} is in a file that the config file extends. Change it there`,
        { data: { server: name } },
      );
    const values = valuesFor(name, entry, from, to);
    const next = await configFile.preview(name, values);
    requireOnlyPackage(config, next, to);
    tried.set(name, next);
    const beside = besideOf(next);
    const belongings = belongingsOf(beside, needs.belongings);
    begin('build', `${to.spec} is installed`);
    await belongings.prepare(events, signal);
    const volumes = (await belongings.candidates()).filter(isTrialVolume);
    await unfinished.begin(belongings.kind, volumes);
    try {
      begin('trial', 'it is started once beside the running version');
      const trial = await needs.trial(beside, events, signal);
      const comparison = pinning?.compare(config, next, {
        ...trial.listing,
        instructions: trial.instructions,
      });
      const after = { entry: { ...entry, ...values }, config: next };
      const plan = describePlan({ from, to }, { entry, config }, after, trial, comparison);
      return { config, next, values, trial, plan, pins: comparison?.pins };
    } finally {
      const found = (await belongings.list()).filter(isTrialVolume);
      const { left } = await belongings.discard(found);
      if (left.length > 0) log.warn({ left }, 'volumes of a trial could not be removed');
      const keys = new Set(left.map(keyOf));
      await unfinished.end(volumes.filter(one => !keys.has(keyOf(one))));
    }
  }

  /** Replaces the running version by the one that was tried out. */
  async function swap({ config, next, values, trial }: Tried, pins: RollbackStep['pins']) {
    const { name } = config;
    async function write(): Promise<void> {
      await configFile.set(name, values);
      // Stored before the pins: without a running server, its last lists are those of the old version.
      await needs.stored?.listings.keep(next, trial.listing);
      await needs.servers.find(name)?.recall();
    }
    if (pins && pinning) await pinning.accept(config, pins, write);
    else await write();
  }

  async function upgrade(
    request: {
      readonly name: string;
      /** Exact version. Undefined: the newest one. */
      readonly version?: string | undefined;
      readonly accept?: string | undefined;
      readonly isDry: boolean;
    },
    work: Work,
  ): Promise<UpgradePlan & { readonly done: boolean }> {
    const { name, version } = request;
    const { begin, signal } = work;
    const { config, source } = packaged(name);
    begin('resolve', 'the version is found out');
    const bare = { ...source, spec: splitSpec(source).name };
    const to = await needs.pins.pin(
      version === undefined ? bare : withVersion(source, version),
      signal,
    );
    requireOther(name, source, to, version);
    begin('resolve', `it is ${packageKeyOf(to)}`);
    const found = await attempt(name, to, work);
    if (request.isDry) return { ...found.plan, done: false };
    requireAccepted(found.plan, request.accept);
    signal.throwIfAborted();
    begin('write', 'it works: calls go to it from now on');
    const { from } = found.plan;
    const step = {
      from,
      to: packageKeyOf(to),
      at: needs.rollbacks.clock.now(),
      pins: pinning?.accepted(config),
    };
    const forget = await rollbacks.add(name, step);
    try {
      await swap(found, found.pins);
    } catch (error) {
      await forget();
      throw error;
    }
    log.info({ server: name, from, to: step.to }, 'upgraded a server');
    return { ...found.plan, done: true };
  }

  async function rollback(name: string, work: Work): Promise<JsonObject> {
    const { source } = packaged(name);
    const [step] = await rollbacks.chain(name, packageKeyOf(source));
    if (!step)
      throw new HubError(
        'HUB_REQUEST_INVALID',
        `${name} runs ${packageKeyOf(source)}, and no upgrade to that version is remembered. Choose one with "agenthub upgrade ${name} --version VERSION"`,
        { data: { server: name } },
      );
    const found = await attempt(name, { ...source, spec: specIn(step.from) }, work);
    work.signal.throwIfAborted();
    work.begin('write', 'it works: calls go to it from now on');
    await swap(found, step.pins ?? found.pins);
    await rollbacks.remove(name, step);
    log.info({ server: name, from: step.to, to: step.from }, 'rolled a server back');
    return { name, from: step.to, to: step.from };
  }

  /** Returns every config whose image is needed: in the file, active, of running work, and for rollbacks. */
  async function configsInUse(
    installing: readonly ServerConfig[],
  ): Promise<readonly ServerConfig[]> {
    const configs = configFile.configs();
    const earlier: ServerConfig[] = [];
    for (const config of configs) {
      const source = packageOf(config);
      const chain = source ? await rollbacks.chain(config.name, packageKeyOf(source)) : [];
      for (const { from } of chain) {
        const spec = specIn(from);
        const { launch } = config;
        if (launch.kind === 'local' && source)
          earlier.push({ ...config, launch: { ...launch, package: { ...source, spec } } });
      }
    }
    return [
      ...configs,
      ...needs.servers.all.map(({ config }) => config),
      ...installing,
      ...tried.values(),
      ...earlier,
    ];
  }

  return {
    /** Returns the package versions of all servers. If a registry is unreachable, the state is `unknown`. */
    outdated: (signal: AbortSignal) => findOutdated(configFile.configs(), needs.pins, signal),
    /**
     * Tries out another version and, unless `isDry`, replaces the running one: calls in flight end on the old version.
     * Rejects with HUB_CONFIRMATION_NEEDED if there are changes without `accept`, and with HUB_DEFINITION_STALE if
     * `accept` is the digest of another plan.
     */
    upgrade: (
      request: Parameters<typeof upgrade>[0],
      tell: (progress: InstallProgress) => void,
      signal: AbortSignal,
    ) =>
      turns.take(request.name, tell, signal, work =>
        upgrade(request, work).finally(() => tried.delete(request.name)),
      ),
    /** Returns the package that a rollback would restore, in the notation of entries; undefined if there is none. */
    async earlier(name: string): Promise<string | undefined> {
      const [step] = await rollbacks.chain(name, packageKeyOf(packaged(name).source));
      return step?.from;
    },
    /** Restores the version before the last upgrade, with its accepted definitions. */
    rollback: (name: string, tell: (progress: InstallProgress) => void, signal: AbortSignal) =>
      turns.take(name, tell, signal, work =>
        rollback(name, work).finally(() => tried.delete(name)),
      ),
    /** Removes the hub's images that no entry and no rollback needs. Rejects with HubError without an engine. */
    async prune(options: { readonly isDry: boolean }) {
      const { images } = needs;
      if (!images) return { removed: [], left: [] };
      const configs = await configsInUse(images.installing());
      return await pruneImages(configs, options, { ...needs.belongings, images: images.pruning });
    },
    async start(): Promise<void> {},
    stop: () => turns.stop(),
  };
}

const isTrialVolume = ({ kind, name }: Belonging) => kind === 'volume' && isOfTrial(name);

/** Returns a package in the notation of its registry, from that of an entry. */
const specIn = (key: string) => key.replace(/^uvx:/, '');

function requireOther(
  name: string,
  from: PackageSpec,
  to: PackageSpec,
  wanted: string | undefined,
): void {
  const [now, then] = [splitSpec(from).version, splitSpec(to).version];
  if (then === undefined)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `version: ${JSON.stringify(wanted)} is not an exact version, such as 1.2.3`,
    );
  if (now === then)
    throw new HubError('HUB_REQUEST_INVALID', `${name} already runs ${packageKeyOf(to)}`, {
      data: { server: name },
    });
  if (wanted === undefined && now !== undefined && compareVersions(now, then) > 0)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `${name} runs ${packageKeyOf(from)}, which is newer than ${then}, the newest released version. To change to that, add --version ${then}`,
      { data: { server: name } },
    );
}
