import {
  type Clock,
  HubError,
  type Log,
  type Timer,
  createAbortScope,
  createEmitter,
  kindOf,
  messageOf,
  sleep,
  unlessAborted,
  waitAtMost,
} from '#core';
import { patchSettings } from './agent-settings.ts';
import { type AgentMemory, type AgentSession, newSession } from './agent-memory.ts';
import type {
  AgentEvent,
  AgentSettings,
  AgentStatus,
  AgentView,
  MessageOutcome,
} from './agent-types.ts';
import type { AgentBody, HeardEvent } from './host/host-types.ts';
import type { MessageQueue, PendingMessage } from './message-queue.ts';
import type { AgentPlaces } from './places.ts';
import { type TurnResult, failureOf, outcomeOf, readTurnResult } from './turn-result.ts';

/** What the hub knows of an agent at its start. */
export type AgentRecord = {
  readonly id: string;
  readonly settings: AgentSettings;
  /** The container that knows the conversation; undefined if none does. */
  readonly containerId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly lastActivity: number;
  readonly session:
    Pick<AgentSession, 'usage' | 'model' | 'lastOutcome' | 'lastMessageId'> | undefined;
};

export type AgentNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly body: AgentBody;
  readonly memory: AgentMemory;
  readonly queue: MessageQueue;
  readonly places: AgentPlaces;
  /** In milliseconds. Read for each turn. */
  readonly limits: () => { readonly turnMs: number; readonly idleMs: number };
  /** Size of the context of a model in tokens; undefined if it is unknown. Loads the models. Never rejects. */
  readonly contextTokens: (model: string | undefined) => Promise<number | undefined>;
  readonly report: AgentReport;
};

/** What an agent reports to the room. */
export type AgentReport = {
  /** Reports what `view` shows. `isTask`: `tasks.json` changes. */
  readonly changed: (isTask: boolean) => void;
  /** Resolves when `task` is written to `tasks.json`. Never rejects. */
  readonly saveTask: () => Promise<void>;
  readonly fire: (event: AgentEvent) => void;
};

/** Time in which an agent must answer calls other than `chat`, in ms. */
const answerMs = 30_000;
/** Time in which an agent must end a cancelled turn, in ms, before its container is stopped. */
const cancelMs = 10_000;

/** Number of failed messages whose reason is stored. */
const maxFailures = 100;
/** Pauses in ms between the attempts to start a container. */
const startPausesMs = [1_000, 3_000, 10_000] as const;

/** One agent: takes its messages in turn, and starts and stops its container. */
export type Agent = ReturnType<typeof createAgent>;

export function createAgent(record: AgentRecord, needs: AgentNeeds) {
  const { id } = record;
  const { clock, body, memory, queue, places } = needs;
  const { changed, fire, saveTask } = needs.report;
  const log = needs.log.child({ agent: id });
  let settings = record.settings;
  let { containerId: knowing, lastActivity } = record;
  let summary = record.session;
  let why: string | undefined;
  /** The settings have changed since the container got them. */
  let isOutdated = false;
  /** The container has another network than the settings, which is fixed for its life. */
  let hasOldNetwork = false;
  let current:
    { readonly message: PendingMessage; readonly scope: TurnScope; doing: string } | undefined;
  let working: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let idle: Timer | undefined;
  let isOver = false;
  /** The container of the last run may still run. */
  let isAdopting = record.containerId !== undefined;
  let remembering: Promise<unknown> = Promise.resolve();
  const ended = createEmitter<{ readonly id: string; readonly outcome: MessageOutcome }>();

  const statusOf = () =>
    current ? 'running' : body.containerId === undefined ? 'stopped' : 'idle';

  /** The status in `tasks.json`. A container that is being stopped is named with `stopped` until it is removed. */
  function taskStatus(): AgentStatus {
    if (stopping) return 'stopped';
    if (!isAdopting) return statusOf();
    return queue.of(id).some(({ startedIn }) => startedIn === record.containerId)
      ? 'running'
      : 'idle';
  }

  body.changed(() => {
    if (body.containerId === undefined) {
      idle?.[Symbol.dispose]();
      if (!current) places.release(id);
    }
    changed(true);
  });

  function doing(what: string): void {
    if (!current) return;
    current.doing = what;
    changed(false);
  }

  /** Works until no message waits. One run at a time. */
  function work(): void {
    if (working || isOver) return;
    idle?.[Symbol.dispose]();
    working = (async () => {
      for (let next = queue.next(id); next && !isOver; next = queue.next(id)) await takeTurn(next);
    })()
      .catch((error: unknown) => log.error({ error: messageOf(error) }, 'the agent cannot go on'))
      .finally(() => {
        working = undefined;
        rest();
      });
  }

  /** Stops the container when nothing has happened for a while. */
  function rest(): void {
    if (isOver) return;
    if (body.containerId === undefined) return places.release(id);
    idle = clock.after(needs.limits().idleMs, () => {
      if (!working) void stopContainer();
    });
    places.offer();
  }

  function stopContainer(): Promise<void> {
    return (stopping ??= endContainer().finally(() => {
      stopping = undefined;
      if (!current) places.release(id);
      changed(true);
    }));
  }

  async function endContainer(): Promise<void> {
    // `tasks.json` must not call a container idle that has ended.
    if (body.existing !== undefined) await saveTask();
    await body.stop();
  }

  async function takeTurn(message: PendingMessage): Promise<void> {
    using scope = createAbortScope([], {
      clock,
      limitMs: needs.limits().turnMs,
      reason: () =>
        new HubError(
          'HUB_TURN_TIMEOUT',
          `${id} did not answer within ${Math.round(needs.limits().turnMs / 60_000)} minutes. Divide the task, or raise "agents.turn_minutes" in the config`,
        ),
    });
    current = { message, scope, doing: 'starting' };
    lastActivity = clock.now();
    changed(true);
    let result: TurnResult | undefined;
    let outcome: MessageOutcome;
    try {
      result = await perform(message, scope);
      outcome = outcomeOf(result);
      why = undefined;
    } catch (error) {
      outcome = scope.signal.reason === cancelled ? { status: 'cancelled' } : failureOf(error);
      why = outcome.error?.message;
    }
    await settle(message, outcome, result);
  }

  /** Lets the container work on a message. Rejects if it has no result. */
  async function perform(message: PendingMessage, { signal }: TurnScope): Promise<TurnResult> {
    if (hasOldNetwork) await stopContainer();
    hasOldNetwork = false;
    await stopping;
    await unlessAborted(
      places.take(id, message.from.startsWith('agent:') ? 'none' : 'waits', signal),
      signal,
    );
    const container = await start(signal);
    if (message.startedIn !== undefined && message.startedIn !== container)
      throw new HubError(
        'HUB_AGENT_DIED',
        `the container of ${id} ended while it worked on this message. Whether its tools took effect is unknown: look into its workspace, and send the message again if it is still wanted`,
      );
    if (knowing !== container || isOutdated) await restore(container);
    if (message.startedIn === undefined) await queue.started(message.id, container);
    doing('thinking');
    const args = { message_id: message.id, message: message.text };
    const chat = body.call('chat', args, needs.limits().turnMs + 2 * cancelMs);
    try {
      return readTurnResult(id, await unlessAborted(chat, signal));
    } catch (error) {
      if (!signal.aborted) throw error;
      return await cancelTurn(message.id, chat, signal);
    }
  }

  /** Starts the container. The message has not begun, so it waits for an engine that is restarted. */
  async function start(signal: AbortSignal): Promise<string> {
    for (const pauseMs of startPausesMs) {
      try {
        return await unlessAborted(body.ready(signal), signal);
      } catch (error) {
        if (signal.aborted || kindOf(error) !== 'unavailable') throw error;
        doing(`starting again: ${messageOf(error)}`);
        log.info({ error: messageOf(error) }, 'the container did not start');
      }
      await sleep(pauseMs, { clock, signal });
    }
    return await unlessAborted(body.ready(signal), signal);
  }

  /** Ends a turn in the container. Stops the container if it does not end the turn. */
  async function cancelTurn(messageId: string, chat: Promise<object>, signal: AbortSignal) {
    doing('cancelling');
    body.call('cancel', { message_id: messageId }, cancelMs).catch(() => undefined); // It is stopped below then.
    const done = chat.then(
      () => true,
      () => true,
    );
    if (!(await waitAtMost(cancelMs, done, clock))) await stopContainer();
    if (signal.reason !== cancelled) throw signal.reason;
    return readTurnResult(id, await body.call('chat', { message_id: messageId }, answerMs));
  }

  async function restore(container: string): Promise<void> {
    const isNew = knowing !== container;
    const session = isNew ? await memory.readSession(id) : undefined;
    const { model, system, grants, budget } = settings;
    isOutdated = false;
    const contextTokens = await needs.contextTokens(model);
    await body.call(
      'restore',
      {
        agent_id: id,
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
      answerMs,
    );
    knowing = container;
    changed(true);
  }

  /** Records the only outcome of a message: in the conversation first, so that it survives a crash in between. */
  async function settle(message: PendingMessage, outcome: MessageOutcome, result?: TurnResult) {
    lastActivity = clock.now();
    const added = await inTurn(() => remember(message, outcome, result));
    await queue.end(message.id, outcome.status);
    if (current?.message.id === message.id) current = undefined;
    for (const one of added) fire({ type: 'message', message: one });
    fire({ type: 'outcome', messageId: message.id, ...outcome });
    ended.fire({ id: message.id, outcome });
    changed(true);
  }

  async function remember(message: PendingMessage, outcome: MessageOutcome, result?: TurnResult) {
    const session = (await memory.readSession(id)) ?? newSession(id, clock.now());
    const isKnown = session.messages.some(
      ({ role, message_id: known }) => role === 'user' && known === message.id,
    );
    const asked = {
      message_id: message.id,
      role: 'user' as const,
      at: new Date(message.at).toISOString(),
      content: [{ type: 'text' as const, text: message.text }],
    };
    const handed = (result?.messages ?? []).filter(
      ({ role, message_id: one }) => !(role === 'user' && one === message.id),
    );
    const added = [...(isKnown ? [] : [asked]), ...handed];
    const { usage } = session;
    const next: AgentSession = {
      ...session,
      updatedAt: new Date(clock.now()).toISOString(),
      model: result?.model ?? session.model,
      messages: [...session.messages, ...added],
      usage: {
        input_tokens: usage.input_tokens + (result?.usage.input_tokens ?? 0),
        output_tokens: usage.output_tokens + (result?.usage.output_tokens ?? 0),
        model_calls: usage.model_calls + (result?.usage.model_calls ?? 0),
      },
      lastMessageId: message.id,
      lastOutcome: outcome,
      failures: [
        ...(session.failures ?? []),
        ...(outcome.error ? [{ message_id: message.id, ...outcome.error }] : []),
      ].slice(-maxFailures),
      ...(result && { snapshot: result.snapshot }),
    };
    const { model, lastMessageId, lastOutcome } = next;
    summary = { usage: next.usage, model, lastMessageId, lastOutcome };
    try {
      await memory.writeSession(next);
    } catch (error) {
      // The outcome counts all the same: the message must not be answered twice.
      log.error({ error: messageOf(error) }, 'the conversation could not be written');
    }
    return added;
  }

  /** Changes the conversation after the changes before it. */
  function inTurn<T>(change: () => Promise<T>): Promise<T> {
    const done = remembering.then(change);
    remembering = done.catch(() => undefined); // Its caller gets the error.
    return done;
  }

  return {
    id,
    ended: ended.event,
    /** Adopts the container of the last run, and goes on with the messages. */
    async begin(): Promise<void> {
      // The hub was killed after it wrote the conversation and before it wrote the outcome.
      for (const message of queue.of(id))
        if (message.id === summary?.lastMessageId) await queue.end(message.id, 'answered');
      if (knowing !== undefined && !(await body.adopt())) knowing = undefined;
      isAdopting = false;
      if (body.containerId !== undefined)
        await places.take(id, 'waits', AbortSignal.abort()).catch(() => undefined); // Above the limit it stays until it is idle.
      changed(true);
      if (queue.next(id)) work();
      else rest();
    },
    get task() {
      const containerId = isAdopting ? record.containerId : body.existing;
      return { id, containerId, status: taskStatus(), lastActivity } as const;
    },
    get settings() {
      return settings;
    },
    get current() {
      return current?.message.id;
    },
    get lastOutcome() {
      return summary && summary.lastOutcome
        ? { messageId: summary.lastMessageId, ...summary.lastOutcome }
        : undefined;
    },
    /** Milliseconds since the epoch; undefined while it works or has no container. */
    get idleSince(): number | undefined {
      return working || body.containerId === undefined ? undefined : lastActivity;
    },
    view(): AgentView {
      const { containerId } = body;
      const queued = queue.of(id).length - (current ? 1 : 0);
      return {
        id,
        status: statusOf(),
        ...(why !== undefined && { why }),
        model: settings.model ?? summary?.model ?? undefined,
        queued: Math.max(0, queued),
        lastActivity,
        ...(containerId !== undefined && { containerId }),
        usage: summary?.usage ?? { input_tokens: 0, output_tokens: 0, model_calls: 0 },
        settings,
        ...(current && {
          current: {
            messageId: current.message.id,
            since: current.message.at,
            doing: current.doing,
          },
        }),
      };
    },
    work,
    /** Whether a message waits or is worked on. */
    has: (messageId: string): boolean => queue.find(messageId)?.agent === id,
    /** Stops the container of an idle agent. The next message starts it again. */
    rest: stopContainer,
    /** Removes the container for good. */
    discard: () => body.discard(),
    /** Reports an event of the message under way. */
    heard(event: HeardEvent): void {
      if (!current) return;
      if (event.type === 'tool') doing(`calling ${event.name}`);
      if (event.type === 'tool_result') doing('thinking');
      fire({ ...event, messageId: current.message.id });
    },
    async configure(patch: unknown): Promise<void> {
      const wanted = patchSettings(settings, patch);
      await memory.create(id);
      await memory.writeSettings(id, wanted);
      const isSameNetwork =
        JSON.stringify(wanted.grants.network) === JSON.stringify(settings.grants.network);
      settings = wanted;
      isOutdated = true;
      hasOldNetwork ||= !isSameNetwork && body.containerId !== undefined;
      if (hasOldNetwork && !working) {
        await stopContainer();
        hasOldNetwork = false;
      }
      changed(false);
    },
    /** False if the message has its outcome. */
    async cancel(messageId: string): Promise<boolean> {
      const message = queue.find(messageId);
      if (message?.agent !== id) return false;
      if (current?.message.id === messageId) current.scope.abort(cancelled);
      else await settle(message, { status: 'cancelled' });
      return true;
    },
    /** Ends the container, the turn under way and the waiting messages. `reason`: the error of these messages. */
    async stop(reason: HubError): Promise<void> {
      for (const message of queue.of(id))
        if (message.id !== current?.message.id) await settle(message, failureOf(reason));
      current?.scope.abort(reason);
      await stopContainer();
      await working;
    },
    /** Ends the agent with the hub. Waiting messages stay. */
    async close(): Promise<void> {
      isOver = true;
      idle?.[Symbol.dispose]();
      current?.scope.abort(
        new HubError(
          'HUB_AGENT_STOPPED',
          'the hub was stopped before the agent had answered. Send the message again',
        ),
      );
      await stopContainer();
      await working;
    },
  };
}

type TurnScope = ReturnType<typeof createAbortScope>;

/** The reason of a turn that was cancelled by a caller. */
const cancelled = new HubError('HUB_CALL_CANCELLED', 'the message was cancelled');
