import { join } from 'node:path';
import { type Clock, HubError, type Log, createEmitter, messageOf, retryable } from '#core';
import type { Backlog } from '#store';
import { type Agent, type AgentRecord, createAgent } from './agent.ts';
import { createAgentFiles } from './agent-files.ts';
import { requireAgentId } from './agent-id.ts';
import { createAgentMemory } from './agent-memory.ts';
import { defaultSettings } from './agent-settings.ts';
import type { AgentEvent, Agents } from './agent-types.ts';
import { readConversation } from './conversation.ts';
import type { AgentDesk, AgentHost } from './host/host-types.ts';
import { createMessageQueue } from './message-queue.ts';
import { createPlaces } from './places.ts';
import { createSpending } from './spending.ts';
import { createTasksFile } from './tasks-file.ts';
import { createUseAgent } from './use-agent.ts';

export type AgentsLimits = {
  /** Maximum number of agents. */
  readonly max: number;
  /** Maximum number of agents that have a container at the same time. */
  readonly maxRunning: number;
  /** Maximum number of messages that wait for one agent. */
  readonly queue: number;
  readonly turnMs: number;
  readonly idleMs: number;
};

type AgentsNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  readonly backlog: Backlog;
  /** Size of the context of a model in tokens; undefined if it is unknown. Loads the models. Never rejects. */
  readonly contextTokens: (model: string | undefined) => Promise<number | undefined>;
  /** Opens the containers of agents. */
  readonly host: (desk: AgentDesk, workspaceOf: (id: string) => string) => AgentHost;
};

const messageBytes = 256 * 1024;
const totalBytes = 16 * 2 ** 20;

/**
 * Creates the agents of the data folder. `refusal`: why this hub has no agents. Their files then stay unchanged.
 */
export function createAgents(
  options: {
    readonly dataDir: string;
    readonly refusal: HubError | undefined;
    /** Read at each use, so that a reload applies. */
    readonly limits: () => AgentsLimits;
  },
  { clock, log: parentLog, newId, backlog, contextTokens, host: openHost }: AgentsNeeds,
): Agents {
  const { dataDir, limits } = options;
  let { refusal } = options;
  const log = parentLog.child({ part: 'agents' });
  const events = createEmitter<{ readonly agent: string; readonly event: AgentEvent }>();
  const memory = createAgentMemory(dataDir, { clock, log });
  const queue = createMessageQueue(
    {
      file: join(dataDir, 'agents.jsonl'),
      limits: {
        get perAgent() {
          return limits().queue;
        },
        messageBytes,
        totalBytes,
      },
    },
    { clock, log, backlog, newId },
  );
  const all = new Map<string, Agent>();
  /** Agents that are being created or removed, by id. */
  const busy = new Map<string, Promise<unknown>>();
  /** Agents that are being removed, whose containers may still run. */
  const leaving = new Set<Agent>();
  const spending = createSpending({ memory, log, isKnown: id => all.has(id) });
  const writeTasks = createTasksFile({
    memory,
    log,
    tasks: () => [...all.values(), ...leaving].map(({ task }) => task),
  });
  const places = createPlaces(
    () => limits().maxRunning,
    () =>
      Array.from(all.values()).flatMap(({ id, idleSince, rest }) =>
        idleSince === undefined ? [] : [{ id, idleSince, stop: rest }],
      ),
  );
  let isOver = false;

  const useAgent = createUseAgent({ memory, send, find: id => all.get(id) });
  const desk: AgentDesk = {
    settings: id => all.get(id)?.settings ?? defaultSettings,
    heard: (id, event) => all.get(id)?.heard(event),
    created: writeTasks,
    spending,
    async useAgent(from, args, signal) {
      return await useAgent(get(from), args, signal);
    },
  };
  const host = openHost(desk, memory.workspaceOf);

  function add(record: AgentRecord): Agent {
    const { id } = record;
    const fire = (event: AgentEvent) => events.fire({ agent: id, event });
    const agent = createAgent(record, {
      clock,
      log,
      body: host.open(id),
      memory,
      queue,
      places,
      limits,
      contextTokens,
      report: {
        changed(isTask) {
          fire({ type: 'view' });
          if (isTask && !isOver) void writeTasks();
        },
        saveTask: writeTasks,
        fire,
      },
    });
    all.set(id, agent);
    return agent;
  }

  function require(): void {
    if (refusal) throw refusal;
    if (isOver) throw new HubError('HUB_SHUTTING_DOWN', 'the hub is stopping: send it again');
  }

  function get(id: string): Agent {
    require();
    const agent = all.get(requireAgentId(id));
    if (agent) return agent;
    throw new HubError(
      'HUB_AGENT_UNKNOWN',
      `no agent is called ${id}. There are: ${[...all.keys()].slice(0, 20).join(', ') || 'none'}. A message to it creates it`,
    );
  }

  /** Returns an agent, and creates it if it is new. */
  async function provide(id: string): Promise<Agent> {
    require();
    requireAgentId(id);
    await busy.get(id);
    const found = all.get(id);
    if (found) return found;
    if (all.size >= limits().max)
      throw retryable(
        'HUB_AGENTS_FULL',
        `${limits().max} agents exist, as many as "agents.max" permits. Remove one (agenthub agent remove ID), or raise the limit in the config`,
      );
    const agent = add({
      id,
      settings: defaultSettings,
      containerId: undefined,
      lastActivity: clock.now(),
      session: undefined,
    });
    const creating = memory.create(id);
    void creating.catch(() => all.delete(id)); // An agent without a folder could not store its conversation.
    busy.set(id, creating);
    try {
      await creating;
    } finally {
      busy.delete(id);
    }
    return agent;
  }

  async function send(id: string, message: string, from: string) {
    await provide(id);
    const { message: accepted, position } = await queue.accept(id, message, from);
    const agent = all.get(id);
    if (!agent) {
      // The agent was removed meanwhile, perhaps before the queue had the message.
      await queue.end(accepted.id, 'failed');
      throw stoppedBy(id);
    }
    agent.work();
    events.fire({ agent: id, event: { type: 'view' } });
    return { status: 'accepted', messageId: accepted.id, position } as const;
  }

  async function remove(id: string): Promise<void> {
    await busy.get(id)?.catch(() => undefined); // The caller that creates the agent gets the error.
    const agent = get(id);
    all.delete(id);
    spending.forget(id);
    leaving.add(agent);
    const removing = (async () => {
      try {
        await agent.stop(stoppedBy(id));
        await agent.discard();
      } finally {
        leaving.delete(agent);
      }
      await memory.remove(id);
      await writeTasks();
    })();
    busy.set(id, removing);
    try {
      await removing;
    } finally {
      busy.delete(id);
      events.fire({ agent: id, event: { type: 'view' } });
    }
  }

  async function load(): Promise<void> {
    await queue.open();
    const tasks = new Map((await memory.readTasks()).map(task => [task.id, task]));
    const ids = new Set([...(await memory.ids()), ...queue.agents()]);
    for (const id of ids) {
      const session = await memory.readSession(id);
      // A hub that was killed between two writes left the outcome in the conversation, and the message in the queue.
      const over = new Set(session?.messages.map(({ message_id: one }) => one));
      for (const message of queue.of(id))
        if (over.has(message.id)) await queue.end(message.id, 'answered');
      const task = tasks.get(id);
      await spending.load(id);
      add({
        id,
        settings: await memory.readSettings(id),
        containerId: task?.containerId,
        lastActivity: task?.lastActivity ?? (Date.parse(session?.updatedAt ?? '') || clock.now()),
        session,
      });
    }
  }

  function refuse({ code, message }: HubError): void {
    refusal = new HubError(code, `this hub has no agents: ${message}, and start the hub again`);
    log.error({ error: refusal.message }, 'the agents could not be started');
    all.clear();
  }

  return {
    get refusal() {
      return refusal;
    },
    service: {
      async start() {
        if (refusal) return;
        try {
          await load();
        } catch (error) {
          if (!(error instanceof HubError)) throw error;
          // Without this file, agents would start empty and overwrite it.
          refuse(error);
          return;
        }
        for (const agent of all.values())
          agent
            .begin()
            .catch((error: unknown) =>
              log.error({ agent: agent.id, error: messageOf(error) }, 'the agent cannot continue'),
            );
      },
      async stop() {
        if (refusal) return;
        await Promise.all(Array.from(all.values(), agent => agent.close()));
        isOver = true;
        await writeTasks();
        await queue.close();
      },
    },
    list: () => Array.from(all.values(), agent => agent.view()),
    get: id => get(id).view(),
    send,
    messages: async (id, request, signal) =>
      await readConversation(get(id), request, { clock, memory, queue }, signal),
    cancel: async (id, messageId) => await get(id).cancel(messageId),
    async configure(id, patch) {
      const agent = await provide(id);
      await agent.configure(patch);
      void writeTasks();
      return agent.view();
    },
    async stop(id) {
      await get(id).stop(stoppedBy(id));
    },
    remove,
    events: events.event,
    files: createAgentFiles(id => {
      get(id);
      return memory.workspaceOf(id);
    }),
  };
}

const stoppedBy = (id: string) =>
  new HubError(
    'HUB_AGENT_STOPPED',
    `${id} was stopped before it had answered. Send the message again`,
  );
