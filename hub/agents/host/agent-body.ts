import { HubError, type JsonObject, createEmitter, isObject, unlessAborted } from '#core';
import { valueOf, membersOf } from '#jsonrpc';
import type { ModelBudget } from '#models';
import { type Running, type Server, startNow } from '#servers';
import type { AgentBody } from './host-types.ts';

type Needs = {
  readonly server: Server;
  readonly budget: Pick<ModelBudget, 'turn'>;
  /** Watches the size of the workspace until disposed. */
  readonly watch: (exceeded: (why: HubError) => void) => Disposable;
  readonly gateway: Disposable;
  /** Resolves when the handle of the container is saved, so that the next run of the hub finds it. */
  readonly saved: () => Promise<unknown>;
  /** Id of the container from its creation until its removal. The host sets it, and the body clears it. */
  readonly existing: { id: string | undefined };
  /** The error of the last launch, if another attempt would fail as well. */
  readonly launchError: () => HubError | undefined;
  /** False while only the container of an earlier run may be used. */
  readonly mayLaunch: { value: boolean };
};

/** Error codes of a call whose container has ended, alone or with the engine. */
const goneCodes: ReadonlySet<string> = new Set(['HUB_SERVER_DOWN', 'HUB_ENGINE_UNREACHABLE']);

function idOf({ instance }: Running): string {
  const { containerId } = instance.about;
  if (typeof containerId !== 'string') throw new TypeError('an agent runs in a container');
  return containerId;
}

/** The container of an agent, as a server that is started on demand. */
export function createAgentBody(id: string, needs: Needs): AgentBody {
  const { server, budget, existing, gateway, watch, launchError, mayLaunch, saved } = needs;
  const changed = createEmitter<undefined>();
  let containerId: string | undefined;
  let watching: Disposable | undefined;
  /** Why the hub stopped the container. */
  let stopped: HubError | undefined;

  server.changed(({ state }) => {
    const now = server.running && idOf(server.running);
    const before = existing.id;
    if (now !== undefined) existing.id = now;
    else if (state === 'stopped' || state === 'failed') existing.id = undefined;
    if (now !== containerId) follow(now);
    else if (before !== existing.id) changed.fire(undefined);
  });

  /** The container has started or ended. */
  function follow(now: string | undefined): void {
    containerId = now;
    watching?.[Symbol.dispose]();
    watching =
      now === undefined
        ? undefined
        : watch(why => {
            stopped = why;
            void server.stop(false);
          });
    changed.fire(undefined);
  }

  /** Returns the error of a call that failed because the container ended. */
  function died(cause: unknown): HubError {
    if (stopped) return stopped;
    const why = server.lastError?.message ?? 'the reason is unknown';
    return new HubError(
      'HUB_AGENT_DIED',
      `the container of ${id} ended while it worked on this message (${why}). Whether its tools took effect is unknown: look into its workspace, and send the message again if it is still wanted`,
      { cause },
    );
  }

  /** Returns the error of a container that did not start, without advice about config entries, as agents have none. */
  function didNotStart(cause: HubError): HubError {
    const why = (server.lastError?.message ?? cause.message).replace(/; set "era" .*$/, '');
    return new HubError(
      'HUB_AGENT_DIED',
      `the container of ${id} could not work: ${why}. Send the message again; if this happens each time, raise "agents.memory" in the config, and see the log of the hub`,
      { cause },
    );
  }

  return {
    get containerId() {
      return containerId;
    },
    get existing() {
      return existing.id;
    },
    changed: changed.event,
    async ready(signal) {
      mayLaunch.value = true;
      stopped = undefined;
      try {
        await unlessAborted(startNow(server), signal);
      } catch (error) {
        throw error instanceof HubError && error.code === 'HUB_SERVER_FAILED'
          ? (launchError() ?? didNotStart(error))
          : error;
      }
      await saved();
      return idOf(await server.ready());
    },
    async adopt() {
      mayLaunch.value = false;
      try {
        await startNow(server);
        return true;
      } catch {
        return false; // There is none, or it does not answer.
      } finally {
        mayLaunch.value = true;
      }
    },
    async call(tool, args, timeoutMs) {
      const { running } = server;
      if (!running) throw died(undefined);
      if (tool === 'chat') budget.turn();
      try {
        const params = { name: tool, arguments: args };
        const answer = await running.upstream.request('tools/call', params, timeoutMs);
        const members = membersOf(answer.bytes, answer.payload);
        const content = valueOf(answer.bytes, members?.get('structuredContent'));
        if (isObject(content) && valueOf(answer.bytes, members?.get('isError')) !== true)
          return content as JsonObject; // It comes from parsed JSON.
        throw new HubError(
          'HUB_SERVER_PROTOCOL',
          `the container of ${id} refused ${tool}: ${String(valueOf(answer.bytes, answer.payload) && JSON.stringify(valueOf(answer.bytes, members?.get('content'))))}`,
        );
      } catch (error) {
        throw error instanceof HubError && goneCodes.has(error.code) ? died(error) : error;
      }
    },
    stop: () => server.stop(false),
    async discard() {
      await server.close('removed');
      gateway[Symbol.dispose]();
    },
  };
}
