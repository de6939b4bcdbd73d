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

/** The containers of agents, on the engine. */
type AgentContainers = {
  /** Containers that outlive the hub. Of agents only. */
  readonly handles: Handles;
  /** Digest of what a spec launches. */
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

/** Time in ms to save by what a later run of the hub finds a container. Without it, a kill of the hub fails the message. */
const savedMs = 2_000;

/** What the hub offers to its agents, and to nobody else. */
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
    /** The error of a launch that another attempt would not mend; undefined if there was none. */
    let launchError: HubError | undefined;
    /** Resolves when a hub that is killed from now on would find the container again. */
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
        // Two would write to the same workspace.
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
