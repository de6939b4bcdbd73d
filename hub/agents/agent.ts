import { HubError, createAbortScope, createEmitter, messageOf } from '#core';
import { type ContainerNeeds, createAgentContainer } from './agent-container.ts';
import { patchSettings } from './agent-settings.ts';
import type { AgentMemory } from './agent-memory.ts';
import type { AgentEvent, AgentSettings, AgentStatus, AgentView } from './agent-types.ts';
import type { HeardEvent } from './host/host-types.ts';
import type { MessageQueue, PendingMessage } from './message-queue.ts';
import { cancelled, performTurn } from './perform-turn.ts';
import { type SessionSummary, createSessionRecord } from './session-record.ts';
import { type MessageOutcome, noUsage } from './session-schema.ts';
import { type TurnResult, failureOf, outcomeOf } from './turn-result.ts';

/** Stored data of an agent, as the hub reads it at its start. */
export type AgentRecord = {
  readonly id: string;
  readonly settings: AgentSettings;
  /** The container of the last run; undefined if there is none. */
  readonly containerId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly lastActivity: number;
  readonly session: SessionSummary | undefined;
};

type AgentNeeds = Omit<ContainerNeeds, 'memory' | 'saveTask'> & {
  readonly memory: AgentMemory;
  readonly queue: MessageQueue;
  /** In milliseconds. Read for each turn. */
  readonly limits: () => { readonly turnMs: number; readonly idleMs: number };
  readonly report: AgentReport;
};

/** Callbacks of an agent. */
type AgentReport = {
  /** The view of the agent has changed. `isTask`: so has its entry in `tasks.json`. */
  readonly changed: (isTask: boolean) => void;
  /** Resolves when `task` is written to `tasks.json`. Never rejects. */
  readonly saveTask: () => Promise<void>;
  readonly fire: (event: AgentEvent) => void;
};

/** One agent. Takes its messages one after another, and records their outcomes. */
export type Agent = ReturnType<typeof createAgent>;

export function createAgent(record: AgentRecord, needs: AgentNeeds) {
  const { id } = record;
  const { clock, memory, queue } = needs;
  const { changed, fire, saveTask } = needs.report;
  const log = needs.log.child({ agent: id });
  const container = createAgentContainer(id, { ...needs, log, saveTask });
  const session = createSessionRecord(id, record.session, { clock, log, memory });
  let settings = record.settings;
  let { lastActivity } = record;
  let why: string | undefined;
  let current:
    | { readonly message: PendingMessage; readonly scope: TurnScope; doing: string }
    | undefined;
  let working: Promise<void> | undefined;
  let isOver = false;
  /** True until the container of the last run is adopted, or known to be gone. */
  let isAdopting = record.containerId !== undefined;
  const ended = createEmitter<{ readonly id: string; readonly outcome: MessageOutcome }>();
  /** Ids of messages whose outcome is being written. They stay in the queue until it is on the disk. */
  const ending = new Set<string>();
  const open = () => queue.of(id).filter(message => !ending.has(message.id));

  const statusOf = () => (current ? 'running' : container.id === undefined ? 'stopped' : 'idle');

  /** The status in `tasks.json`. It is `stopped` as soon as the container stops or has ended, before it is removed. */
  function taskStatus(): AgentStatus {
    if (container.isStopping || container.hasEnded) return 'stopped';
    if (!isAdopting) return statusOf();
    return queue.of(id).some(({ startedIn }) => startedIn === record.containerId)
      ? 'running'
      : 'idle';
  }

  container.changed(() => changed(true));

  function doing(what: string): void {
    if (!current) return;
    current.doing = what;
    changed(false);
  }

  /** Takes the waiting messages one after the other, unless an earlier call still does. */
  function work(): void {
    const [first] = open();
    if (working || isOver || !first) return;
    container.hold();
    working = takeTurns(first);
  }

  /** Never rejects. */
  async function takeTurns(first: PendingMessage): Promise<void> {
    try {
      let next: PendingMessage | undefined = first;
      for (; next && !isOver; [next] = open()) await takeTurn(next);
    } catch (error) {
      log.error({ error: messageOf(error) }, 'the agent cannot continue');
    } finally {
      // Set before any await: a message that is accepted from now on calls `work` again.
      working = undefined;
      rest();
      // The settings may have changed during the turns.
      void container.retire(settings);
    }
  }

  function rest(): void {
    if (!isOver) container.leave(needs.limits().idleMs);
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
      result = await performTurn(id, message, {
        container,
        queue,
        settings: () => settings,
        turnMs: () => needs.limits().turnMs,
        doing,
        signal: scope.signal,
      });
      outcome = outcomeOf(result);
      why = undefined;
    } catch (error) {
      // A message that has not begun when the hub stops waits for the next run.
      if (scope.signal.reason === hubStopped && queue.find(message.id)?.startedIn === undefined) {
        current = undefined;
        return;
      }
      outcome = scope.signal.reason === cancelled ? { status: 'cancelled' } : failureOf(error);
      why = outcome.error?.message;
    }
    await settle(message, outcome, result);
  }

  /**
   * Writes an outcome into the conversation, and then removes the message from the queue, so that a crash in between does
   * not lose the outcome. Resolves with the messages that were added to the conversation.
   */
  async function writeOutcome(
    message: PendingMessage,
    outcome: MessageOutcome,
    result?: TurnResult,
  ) {
    ending.add(message.id);
    try {
      const added = await session.add({ message, outcome, result });
      await queue.end(message.id, outcome.status);
      return added;
    } finally {
      ending.delete(message.id);
    }
  }

  /** Writes the outcome of a message and fires its events. A message has one outcome. */
  async function settle(message: PendingMessage, outcome: MessageOutcome, result?: TurnResult) {
    lastActivity = clock.now();
    const added = await writeOutcome(message, outcome, result);
    if (current?.message.id === message.id) current = undefined;
    for (const one of added) fire({ type: 'message', message: one });
    fire({ type: 'outcome', messageId: message.id, ...outcome });
    ended.fire({ id: message.id, outcome });
    changed(true);
  }

  return {
    id,
    ended: ended.event,
    /** Adopts the container of the last run, and continues with the messages. */
    async begin(): Promise<void> {
      if (isAdopting) await container.adopt(settings);
      isAdopting = false;
      changed(true);
      if (queue.next(id)) work();
      else rest();
    },
    get task() {
      const containerId = isAdopting ? record.containerId : container.existing;
      return { id, containerId, status: taskStatus(), lastActivity } as const;
    },
    get settings() {
      return settings;
    },
    get current() {
      return current?.message.id;
    },
    get lastOutcome() {
      const { summary } = session;
      return summary?.lastOutcome
        ? { messageId: summary.lastMessageId, ...summary.lastOutcome }
        : undefined;
    },
    /** Milliseconds since the epoch; undefined while the agent works or has no container. */
    get idleSince(): number | undefined {
      return working || container.id === undefined ? undefined : lastActivity;
    },
    view(): AgentView {
      const { id: containerId } = container;
      const { summary } = session;
      const queued = queue.of(id).length - (current ? 1 : 0);
      return {
        id,
        status: statusOf(),
        ...(why !== undefined && { why }),
        model: settings.model ?? summary?.model ?? undefined,
        queued: Math.max(0, queued),
        lastActivity,
        ...(containerId !== undefined && { containerId }),
        usage: summary?.usage ?? noUsage,
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
    /** True if a message has no outcome yet. */
    has: (messageId: string): boolean => queue.find(messageId)?.agent === id,
    /** Stops the container of an idle agent. The next message starts it again. */
    rest: container.stop,
    /** Removes the container for good. */
    discard: container.discard,
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
      settings = wanted;
      if (!working) await container.retire(settings);
      changed(false);
    },
    /** Resolves with false if the message has its outcome. */
    async cancel(messageId: string): Promise<boolean> {
      const message = open().find(one => one.id === messageId);
      if (!message) return false;
      if (current?.message.id === messageId) current.scope.abort(cancelled);
      else await settle(message, { status: 'cancelled' });
      return true;
    },
    /** Ends the container, the current turn and the waiting messages. `reason`: the error of these messages. */
    async stop(reason: HubError): Promise<void> {
      for (const message of queue.of(id))
        if (message.id !== current?.message.id && !ending.has(message.id))
          await settle(message, failureOf(reason));
      current?.scope.abort(reason);
      await container.stop();
      await working;
    },
    /** Ends the agent with the hub. Messages that have not begun stay. */
    async close(): Promise<void> {
      isOver = true;
      container.hold();
      current?.scope.abort(hubStopped);
      await container.stop();
      await working;
    },
  };
}

type TurnScope = ReturnType<typeof createAbortScope>;

const hubStopped = new HubError(
  'HUB_AGENT_STOPPED',
  'the hub was stopped before the agent had answered. Send the message again',
);
