import {
  type Clock,
  type Event,
  type JsonObject,
  type Log,
  type Timer,
  createEmitter,
  kindOf,
  messageOf,
  sleep,
  unlessAborted,
  waitAtMost,
} from '#core';
import type { AgentMemory } from './agent-memory.ts';
import type { AgentSettings } from './agent-types.ts';
import type { AgentBody } from './host/host-types.ts';
import type { AgentPlaces } from './places.ts';

export type ContainerNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly body: AgentBody;
  readonly memory: Pick<AgentMemory, 'readSession'>;
  readonly places: AgentPlaces;
  /** Size of the context of a model in tokens; undefined if it is unknown. Loads the models. Never rejects. */
  readonly contextTokens: (model: string | undefined) => Promise<number | undefined>;
  /** Resolves when `tasks.json` has the present state. Never rejects. */
  readonly saveTask: () => Promise<void>;
};

/** Settings and conversation that a container gets with a message, because it does not have them yet. */
type Briefing = {
  readonly settings: AgentSettings;
  /** Members of the arguments of `chat`. */
  readonly members: object;
};

/** `none` for a message of an agent: its sender waits and keeps its own place, so waiting for places could never end. */
type Patience = Parameters<AgentPlaces['take']>[1];

/** Timeout in ms of a request for a result that the agent has. */
const answerMs = 30_000;
/** Time in ms for an agent to end a cancelled turn. Then its container is stopped. */
const cancelMs = 10_000;
/** Pauses in ms between the attempts to start a container. */
const startPausesMs = [1_000, 3_000, 10_000] as const;

/** The container of one agent. Starts it, and sends it messages. */
export type AgentContainer = ReturnType<typeof createAgentContainer>;

export function createAgentContainer(id: string, needs: ContainerNeeds) {
  const { clock, body, memory, places, log, saveTask } = needs;
  const changed = createEmitter<undefined>();
  /** The container that has the conversation, and the settings that it has. */
  let told: { readonly container: string; readonly settings: AgentSettings } | undefined;
  /** The network of the container, which is fixed for its life, as JSON. */
  let network: string | undefined;
  /** True while the agent works or is about to: the container keeps its place. */
  let isHeld = false;
  let stopping: Promise<void> | undefined;
  /** Id of the newest container. */
  let lastId: string | undefined;
  let idle: Timer | undefined;
  /** Time in ms after which an idle container is stopped. Undefined until the first `leave`. */
  let idleMs: number | undefined;

  body.changed(() => {
    lastId = body.containerId ?? lastId;
    if (body.containerId === undefined) {
      dropTimer();
      releaseUnlessHeld();
    } else if (!isHeld && !idle && idleMs !== undefined) {
      // The container has started after its message was cancelled.
      takeFreePlace();
      rest(idleMs);
    }
    changed.fire(undefined);
  });

  function dropTimer(): void {
    idle?.[Symbol.dispose]();
    idle = undefined;
  }

  /** Takes a place if one is free. */
  function takeFreePlace(): void {
    places.take(id, 'waits', AbortSignal.abort()).catch(() => undefined); // Above the limit, the container stays until it is idle.
  }

  function rest(ms: number): void {
    if (body.containerId === undefined) return places.release(id);
    idle = clock.after(ms, () => void stop());
    places.offer();
  }

  function releaseUnlessHeld(): void {
    if (!isHeld && body.containerId === undefined) places.release(id);
  }

  function stop(): Promise<void> {
    return (stopping ??= end().finally(() => {
      stopping = undefined;
      releaseUnlessHeld();
      changed.fire(undefined);
    }));
  }

  async function end(): Promise<void> {
    // Saved first: `tasks.json` must not list a container as idle after its end.
    if (body.existing !== undefined) await saveTask();
    await body.stop();
  }

  /** Stops the container if its network differs from the settings. */
  async function retire({ grants }: AgentSettings): Promise<void> {
    if (body.containerId !== undefined && network !== JSON.stringify(grants.network)) await stop();
  }

  return {
    /** Undefined while none runs. */
    get id() {
      return body.containerId;
    },
    /** The container, from its creation until the engine has removed it. */
    get existing() {
      return body.existing;
    },
    get isStopping() {
      return stopping !== undefined;
    },
    /** True if the container has ended by itself or with the engine, until it is removed or replaced. */
    get hasEnded() {
      return body.containerId === undefined && lastId !== undefined && body.existing === lastId;
    },
    /** Fires when `id`, `existing`, `isStopping` or `hasEnded` has changed. */
    changed: changed.event as Event<unknown>,
    /** Adopts the container of an earlier run. It gets the conversation and the settings again. */
    async adopt({ grants }: AgentSettings): Promise<void> {
      if (!(await body.adopt())) return;
      network = JSON.stringify(grants.network);
      takeFreePlace();
    },
    /** Keeps the container and its place until `leave`. */
    hold(): void {
      isHeld = true;
      dropTimer();
    },
    /** Stops the container after this time in ms, unless `hold` is called before. */
    leave(ms: number): void {
      isHeld = false;
      idleMs = ms;
      rest(ms);
    },
    /**
     * Starts the container if necessary, and resolves with its id. While the engine is unreachable, tries again a few
     * times: no message has begun. `failed` gets the reason of each failed attempt. Rejects with HubError, or with the
     * reason of the signal.
     */
    async ready(
      settings: AgentSettings,
      patience: Patience,
      failed: (why: string) => void,
      signal: AbortSignal,
    ): Promise<string> {
      await retire(settings);
      await stopping;
      await unlessAborted(places.take(id, patience, signal), signal);
      if (body.containerId === undefined) network = JSON.stringify(settings.grants.network);
      for (const pauseMs of startPausesMs) {
        try {
          return await unlessAborted(body.ready(signal), signal);
        } catch (error) {
          if (signal.aborted || kindOf(error) !== 'unavailable') throw error;
          failed(messageOf(error));
          log.info({ error: messageOf(error) }, 'the container did not start');
        }
        await sleep(pauseMs, { clock, signal });
      }
      return await unlessAborted(body.ready(signal), signal);
    },
    /** Returns what the container needs with the next message; undefined if it has everything. */
    async brief(settings: AgentSettings): Promise<Briefing | undefined> {
      const isNew = told === undefined || told.container !== body.containerId;
      if (!isNew && told?.settings === settings) return undefined;
      const session = isNew ? await memory.readSession(id) : undefined;
      const { model, system, grants, budget } = settings;
      const contextTokens = await needs.contextTokens(model);
      return {
        settings,
        members: {
          ...(isNew && {
            session: session ? { messages: session.messages, snapshot: session.snapshot } : null,
          }),
          settings: {
            ...(model !== undefined && { model }),
            ...(system !== undefined && { system }),
            ...(contextTokens !== undefined && { context_tokens: contextTokens }),
            steps_per_turn: budget.stepsPerTurn,
            load_tool: grants.loadTool,
            use_agent: grants.agents,
          },
        },
      };
    },
    /** Sends a message to the container, or joins its work on it. Resolves with the result, which is not parsed yet. */
    async chat(
      message: { readonly id: string; readonly text: string },
      briefing: Briefing | undefined,
      turnMs: number,
    ): Promise<JsonObject> {
      const container = body.containerId;
      const args = { message_id: message.id, message: message.text, ...briefing?.members };
      // Longer than the turn: a turn that is cancelled at its timeout still has a result.
      const result = await body.call('chat', args, turnMs + 2 * cancelMs);
      if (briefing && container !== undefined) told = { container, settings: briefing.settings };
      return result;
    },
    /** Cancels the work on a message, and resolves when its `chat` has ended. Stops the container if it does not end. */
    async endTurn(messageId: string, chat: Promise<object>): Promise<void> {
      body.call('cancel', { message_id: messageId }, cancelMs).catch(() => undefined); // It is stopped below then.
      const done = chat.then(
        () => true,
        () => true,
      );
      if (!(await waitAtMost(cancelMs, done, clock))) await stop();
    },
    /** Requests the result of a message that has ended. */
    resultOf: (messageId: string): Promise<JsonObject> =>
      body.call('chat', { message_id: messageId }, answerMs),
    retire,
    /** Stops the container. The next message starts it again. */
    stop,
    /** Removes the container for good. */
    discard: () => body.discard(),
  };
}
