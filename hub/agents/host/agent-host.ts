import { type Clock, HubError, type Log, kindOf, waitAtMost } from '#core';
import { type ModelBudget, type ModelSampling, createBudget } from '#models';
import type { Principal } from '#policy';
import { type Router, createPrincipalRequests } from '#routing';
import type { Instance, LaunchEvents, LaunchSpec } from '#runtimes';
import { type Eras, type Handles, type Servers, createServer } from '#servers';
import { createAgentBody } from './agent-body.ts';
import { createBodyOnDemand } from './body-on-demand.ts';
import { createGateway } from './gateway.ts';
import type { AgentBody, AgentDesk, AgentHost } from './host-types.ts';
import { type LaunchOptions, launchSpecOf, prepareWorkspace, serverConfigOf } from './launch.ts';
import { watchWorkspace } from './workspace-watch.ts';

/** Access to the containers of agents on the engine. */
type AgentContainers = {
  /** Saved handles of agents' containers, for adoption by the next run of the hub. */
  readonly handles: Handles;
  /** Returns a digest of everything that a spec launches. */
  readonly digestOf: (spec: LaunchSpec) => string;
  readonly launch: (
    spec: LaunchSpec,
    events: LaunchEvents,
    signal: AbortSignal,
  ) => Promise<Instance>;
  readonly adopt: (
    spec: LaunchSpec,
    handle: string,
    events: LaunchEvents,
    signal: AbortSignal,
  ) => Promise<Instance | undefined>;
};

type AgentHostNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly hubVersion: string;
  readonly redact: (text: string) => string;
  readonly eras: Eras;
  readonly containers: AgentContainers;
  readonly router: Pick<Router, 'openSessionless'>;
  /** The servers of the config. */
  readonly servers: Pick<Servers, 'all'>;
  readonly sampling: ModelSampling;
};

/** Maximum time in ms to wait for a saved handle. If the hub is killed before it is saved, the message fails. */
const savedMs = 2_000;

/** Capabilities that the hub declares to agents only. */
const capabilities = { sampling: { tools: {} }, experimental: { 'agenthub/tools': {} } };

/** Runs agents in containers. */
export function createAgentHost(
  options: LaunchOptions,
  desk: AgentDesk,
  needs: AgentHostNeeds,
): AgentHost {
  const { clock, containers, router, sampling, servers } = needs;
  function make(id: string, budget: ModelBudget): AgentBody {
    const log = needs.log.child({ agent: id });
    const mayLaunch = { value: true };
    /** The container from its creation on. */
    const existing: { id: string | undefined } = { id: undefined };
    /** Error of the last launch, if another attempt would fail as well. */
    let launchError: HubError | undefined;
    /** Resolves when the handle of the container is saved. */
    let saved = Promise.withResolvers<unknown>();
    saved.resolve(undefined);
    const specOf = (): LaunchSpec => {
      const spec = launchSpecOf(id, desk.settings(id), options);
      return { ...spec, digest: containers.digestOf(spec) };
    };
    const server = createServer(serverConfigOf(id, options.config().turnMs, capabilities), {
      clock,
      log,
      random: needs.random,
      hubVersion: needs.hubVersion,
      redact: needs.redact,
      eras: needs.eras,
      instances: { count: () => 0, isHeard: () => false },
      launches: {
        // Two containers would write to the same workspace.
        isExclusive: () => true,
        adoption: {
          handles: {
            ...containers.handles,
            async keep(...handle) {
              const isKept = await containers.handles.keep(...handle);
              saved.resolve(undefined);
              return isKept;
            },
          },
          digestOf: () => specOf().digest,
          adopt: async (_config, handle, events, signal) =>
            await containers.adopt(specOf(), handle, events, signal),
        },
      },
      async launch(_config, events, signal) {
        if (!mayLaunch.value)
          throw new HubError('HUB_SERVER_STOPPED', `the container of ${id} has ended`);
        saved = Promise.withResolvers<unknown>();
        launchError = undefined;
        try {
          await prepareWorkspace(options.workspaceOf(id));
          return await containers.launch(
            specOf(),
            {
              ...events,
              async created(containerId) {
                existing.id = containerId;
                await desk.created(id);
              },
            },
            signal,
          );
        } catch (error) {
          if (error instanceof HubError && kindOf(error) !== 'unavailable') launchError = error;
          throw error;
        }
      },
    });
    const principal: Principal = { kind: 'agent', name: id, grants: { administer: false } };
    const session = createPrincipalRequests(principal, router);
    const gateway = createGateway(id, server, {
      clock,
      desk,
      sampling,
      budget,
      session,
      servers,
      log,
    });
    return createAgentBody(id, {
      server,
      budget,
      gateway,
      existing,
      mayLaunch,
      launchError: () => launchError,
      saved: () => waitAtMost(savedMs, saved.promise, clock),
      watch: exceeded =>
        watchWorkspace(
          {
            id,
            folder: options.workspaceOf(id),
            maxBytes: () => options.config().workspaceBytes,
            exceeded,
          },
          clock,
        ),
    });
  }

  return {
    open(id) {
      return createBodyOnDemand(() => {
        // The budget includes what the agent used before it was stopped.
        const budget = createBudget(() => desk.settings(id).budget, clock, {
          earlier: desk.spending.earlier(id),
          save: spent => desk.spending.save(id, spent),
        });
        return make(id, budget);
      });
    },
  };
}
