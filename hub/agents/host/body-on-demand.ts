import { type JsonObject, createEmitter } from '#core';
import type { AgentBody } from './host-types.ts';

/**
 * Creates a body that `make` makes at its first use. It is discarded when its container has stopped, so that a stopped agent
 * takes hardly any memory.
 */
export function createBodyOnDemand(make: () => AgentBody): AgentBody {
  const changed = createEmitter<undefined>();
  let body: AgentBody | undefined;
  /** Number of calls that use the body. */
  let inUse = 0;

  async function use<T>(work: (made: AgentBody) => Promise<T>): Promise<T> {
    if (!body) {
      body = make();
      body.changed(() => changed.fire(undefined));
    }
    inUse++;
    try {
      return await work(body);
    } finally {
      inUse--;
    }
  }

  /** Discards the body if it has no container and no call uses it. */
  async function release(): Promise<void> {
    if (!body || inUse > 0 || body.containerId !== undefined) return;
    const released = body;
    body = undefined;
    await released.discard();
  }

  return {
    get containerId() {
      return body?.containerId;
    },
    get existing() {
      return body?.existing;
    },
    changed: changed.event,
    ready: signal => use(made => made.ready(signal)),
    async adopt() {
      const isAdopted = await use(made => made.adopt());
      await release();
      return isAdopted;
    },
    call: (tool, args, timeoutMs): Promise<JsonObject> =>
      use(made => made.call(tool, args, timeoutMs)),
    async stop() {
      await body?.stop();
      await release();
    },
    async discard() {
      const discarded = body;
      body = undefined;
      await discarded?.discard();
    },
  };
}
