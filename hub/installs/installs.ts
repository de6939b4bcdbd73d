import type { ServerConfig } from '#config';
import { HubError, messageOf } from '#core';
import type { DefinitionPins } from '#definitions';
import type { Belonging, LaunchEvents, Target } from '#runtimes';
import {
  type Belongings,
  type UnfinishedNeeds,
  belongingsOf,
  createUnfinished,
  keyOf,
  ownOf,
} from './belongings.ts';
import { type Unconfirmed, confirmationsFor, requireConfirmed } from './confirmation.ts';
import { draftOf } from './draft.ts';
import { cancelledError, failureAt, stoppingError } from './failure.ts';
import { type Installed, describe } from './installed.ts';
import { type Pins, packageKeyOf } from './pins.ts';
import { createPlaces } from './places.ts';
import { type Removal, type RemovalNeeds, removeServer } from './removal.ts';
import type {
  Draft,
  InstallEntry,
  InstallProgress,
  InstallRequest,
  InstallStep,
  TrialRequest,
} from './request.ts';
import { createSteps } from './steps.ts';
import type { Trial } from './trial.ts';

/** Installs and removes servers. `start` removes what installs left when an earlier run of the hub was killed. */
export type Installs = ReturnType<typeof createInstalls>;

export type InstallsNeeds = RemovalNeeds &
  UnfinishedNeeds & {
    readonly pins: Pins;
    readonly configFile: {
      /** Parses an entry like the config loader. Rejects with HUB_CONFIG_INVALID or HUB_REQUEST_INVALID. */
      readonly check: (name: string, entry: InstallEntry) => Promise<ServerConfig>;
      /** Writes an entry to the config file. Resolves when the entry is active. */
      readonly add: (name: string, entry: InstallEntry) => Promise<void>;
    };
    /** Starts a server once under its own instance name, and stops it. */
    readonly trial: (
      config: ServerConfig,
      events: LaunchEvents,
      signal: AbortSignal,
    ) => Promise<Trial>;
    /** Pins definitions and describes them, with suspicious findings. Absent: nothing is pinned. */
    readonly pinning?: Pick<DefinitionPins, 'preview' | 'seen'>;
  };

type How = readonly [tell: (progress: InstallProgress) => void, caller: AbortSignal];

/** Creates the installs. Each runs step by step; concurrent installs do not affect each other. */
export function createInstalls(needs: InstallsNeeds) {
  const { configFile } = needs;
  const log = needs.log.child({ part: 'installs' });
  const places = createPlaces(() => configFile.configs().map(({ name }) => name));
  const ending = new AbortController();
  const underway = new Set<Promise<unknown>>();
  /** Configs of running installs that may already have created images, volumes or folders. */
  const begun = new Set<ServerConfig>();
  const unfinished = createUnfinished(needs);
  /** Resolves when the leftovers of earlier runs are removed, or their removal has failed. */
  let cleared: Promise<void> = Promise.resolve();

  /** Installs a draft. `isTrial`: writes no entry and keeps the image, which the next start removes if it is unused. */
  async function install(
    draft: Draft,
    request: Pick<InstallRequest, 'name' | 'confirm'> & { readonly isTrial: boolean },
    ...[tell, caller]: How
  ): Promise<Installed> {
    using place = places.take(request.name, draft.name);
    const { name } = place;
    const signal = AbortSignal.any([caller, ending.signal]);
    const steps = createSteps('validate', tell, signal);
    const { begin, say, events } = steps;
    let config: ServerConfig | undefined;
    try {
      begin('validate', `the entry of ${name} is checked`);
      config = await checkConfirmed(name, draft.entry, request.confirm);
      begin('resolve', 'the version is found out');
      const pinned = await pin(draft.entry, config, signal);
      if (pinned !== draft.entry) config = await checkConfirmed(name, pinned, request.confirm);
      const chosen = config;
      if (draft.isForeign) requireContainer(name, needs.specOf(chosen).target.kind);
      if (typeof pinned['package'] === 'string') say(`it is ${pinned['package']}`);
      const belongings = belongingsOf(chosen, needs);
      await cleared;
      await using undo = new AsyncDisposableStack();
      const { made, remove } = await undoOf(chosen, belongings);
      undo.defer(() => remove());
      const preparation = preparationOf(chosen);
      if (preparation) begin(...preparation);
      const prepared = await belongings.prepare(events, signal);
      begin('trial', 'it is started once, to see what it offers');
      const { about, listing, instructions } = await needs.trial(chosen, events, signal);
      const offer = { ...listing, instructions };
      if (request.isTrial) {
        undo.move();
        await remove('image');
      } else {
        begin('write', 'it works: its entry is written');
        // From here on, the install cannot be cancelled: the file is written as a whole or not at all.
        await configFile.add(name, pinned);
        undo.move();
        begun.delete(chosen);
        await unfinished.end(made);
        // Pinned now, as the person saw this listing. The first start, perhaps weeks later, is compared with it.
        needs.pinning?.seen(chosen, offer);
        await needs.stored?.listings.keep(chosen, listing);
        await needs.servers.find(name)?.recall();
        log.info({ server: name }, 'installed a server');
      }
      const definitions = needs.pinning?.preview(chosen, offer);
      const found = { ...prepared, ...about, ...(definitions && { pinned: definitions }) };
      return describe(name, pinned, chosen, found, draft.secrets);
    } catch (error) {
      if (ending.signal.aborted) throw stopping(name);
      if (caller.aborted) throw cancelledError(name, 'installed', caller.reason);
      const isNetworkless =
        config?.launch.kind === 'local' && config.launch.sandbox.network === 'none';
      const isProcess =
        steps.step === 'trial' && config && needs.specOf(config).target.kind === 'process';
      throw failureAt(steps.step, error, steps.output, {
        isNetworkless,
        ...(isProcess && { isProcess }),
        launch: config?.launch,
      });
    }
  }

  async function check(name: string, entry: InstallEntry) {
    const config = await configFile.check(name, entry);
    return { config, unconfirmed: confirmationsFor(entry, config, configFile.configs()) };
  }

  async function checkConfirmed(
    name: string,
    entry: InstallEntry,
    confirmed: readonly string[],
  ): Promise<ServerConfig> {
    const { config, unconfirmed } = await check(name, entry);
    requireConfirmed(name, unconfirmed, confirmed);
    return config;
  }

  /** Returns the entry with the exact version of its package. */
  async function pin(
    entry: InstallEntry,
    { launch }: ServerConfig,
    signal: AbortSignal,
  ): Promise<InstallEntry> {
    if (launch.kind !== 'local' || !launch.package || typeof entry['package'] !== 'string')
      return entry;
    const key = packageKeyOf(await needs.pins.pin(launch.package, signal));
    return key === entry['package'] ? entry : { ...entry, package: key };
  }

  /**
   * Returns the belongings that an install may create, and a function that removes those that no other server has. It
   * keeps belongings of the given kind, which stay recorded.
   */
  async function undoOf(config: ServerConfig, belongings: Belongings) {
    const before = new Set((await belongings.list()).map(keyOf));
    const isNew = (one: Belonging) => !before.has(keyOf(one));
    const made = (await belongings.candidates()).filter(isNew);
    await unfinished.begin(belongings.kind, made);
    begun.add(config);
    const remove = async (kept?: Belonging['kind']) => {
      begun.delete(config);
      try {
        const found = (await belongings.list()).filter(one => isNew(one) && one.kind !== kept);
        // A server of the same name counts, too: a person may have added it to the file meanwhile.
        const { own } = await ownOf(found, allExcept(config), needs);
        const { left } = await belongings.discard(own);
        if (left.length > 0) log.warn({ left }, 'parts of a failed install could not be removed');
        const keys = new Set(left.map(keyOf));
        await unfinished.end(made.filter(one => !keys.has(keyOf(one)) && one.kind !== kept));
      } catch (error) {
        log.warn({ problem: messageOf(error) }, 'the parts of a failed install were not removed');
      }
    };
    return { made, remove };
  }

  /** Returns the configs of all servers, and of all running installs but that of the given config. */
  const allExcept = (config: ServerConfig) => [
    ...needs.servers.all.map(server => server.config),
    ...configFile.configs(),
    ...[...begun].filter(other => other !== config),
  ];

  const othersThan = (config: ServerConfig) =>
    allExcept(config).filter(({ name }) => name !== config.name);

  /** Runs work for which `stop` waits. Rejects with HUB_SHUTTING_DOWN if the hub is stopping. */
  async function run<T>(name: string | undefined, work: () => Promise<T>): Promise<T> {
    if (ending.signal.aborted) throw stopping(name ?? 'the server');
    const working = work();
    const over = working.catch(() => undefined); // The caller of `run` gets the error.
    underway.add(over);
    void over.then(() => underway.delete(over));
    return await working;
  }

  return {
    /** Returns the settings that `confirm` must name. Starts nothing. Rejects with HubError for an invalid request. */
    review: (request: InstallRequest): Promise<readonly Unconfirmed[]> =>
      run(request.name, async () => {
        const draft = draftOf(request);
        using place = places.take(request.name, draft.name);
        return (await check(place.name, draft.entry)).unconfirmed;
      }),
    /**
     * Validates, resolves, builds, tries out and writes an entry, and returns the result. If it rejects with HubError,
     * or the signal aborts before the entry is written, nothing is left behind. Rejects with HUB_CONFIRMATION_NEEDED
     * before it starts if the request does not confirm what the entry asks for.
     */
    install: (request: InstallRequest, ...how: How): Promise<Installed> =>
      run(request.name, async () =>
        install(draftOf(request), { ...request, isTrial: false }, ...how),
      ),
    /**
     * Like `install`, but writes no entry. The result contains the chosen version. Keeps the image for a caller that
     * adds the entry itself: the next start of the hub removes it unless an entry uses it.
     */
    trial: ({ name, entry, confirm }: TrialRequest, ...how: How): Promise<Installed> =>
      run(name, async () =>
        install({ name, entry, secrets: new Set() }, { name, confirm, isTrial: true }, ...how),
      ),
    /**
     * Stops a server and removes its entry. With `purge`, also removes its image and its volumes, if they belong to the
     * hub and to no other server. Returns the lists `removed` and `left`. Rejects with HUB_SERVER_UNKNOWN.
     */
    remove: (name: string, { purge }: { readonly purge: boolean }): Promise<Removal> =>
      run(name, () => removeServer(name, purge, places, othersThan, { ...needs, log })),
    /** Returns the configs of running installs that may already have created images, volumes or folders. */
    installing: (): readonly ServerConfig[] => [...begun],
    async start(): Promise<void> {
      if (!ending.signal.aborted) cleared = run(undefined, () => unfinished.clear());
    },
    async stop(): Promise<void> {
      ending.abort();
      await Promise.all(underway);
    },
  };
}

/** Throws HUB_LAUNCH_INVALID for a server of a registry that would run without a sandbox. */
function requireContainer(name: string, kind: Target['kind']): void {
  if (kind !== 'process') return;
  throw new HubError(
    'HUB_LAUNCH_INVALID',
    `${name}: servers of the catalog run in containers only, and no Docker engine answered when the hub started. Start Docker and then the hub`,
    { data: { server: name } },
  );
}

function preparationOf({ launch }: ServerConfig): readonly [InstallStep, string] | undefined {
  if (launch.kind === 'remote') return undefined;
  if (launch.package) return ['build', `${launch.package.spec} is installed`];
  if (launch.build) return ['build', `an image of ${launch.build.folder} is built`];
  return launch.image === undefined ? undefined : ['pull', `${launch.image} is brought here`];
}

const stopping = (name: string) => stoppingError(name, 'installed or removed');
