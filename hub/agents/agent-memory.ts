import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import {
  type Clock,
  HubError,
  type Log,
  errorCodeOf,
  ignoreMissing,
  messageOf,
  tryParseJson,
} from '#core';
import type { SpentTokens } from '#models';
import { writeWhole } from '#store';
import { agentIdPattern } from './agent-id.ts';
import { defaultSettings, patchSettings, writtenSettings } from './agent-settings.ts';
import type { AgentSettings, AgentStatus } from './agent-types.ts';
import { readText, unreadable } from './read-text.ts';
import { type AgentSession, sessionSchema } from './session-schema.ts';

const tasksSchema = z.object({
  version: z.literal(1),
  agents: z.array(
    z.object({
      agent_id: z.string(),
      container_id: z.string().nullable(),
      status: z.enum(['running', 'idle', 'stopped']),
      last_activity: z.string(),
    }),
  ),
});

const spentSchema = z.object({
  version: z.literal(1),
  spent: z.array(z.object({ at: z.number(), tokens: z.number() })),
});

/** Rejects unknown members, which another version of the hub or a person may have written. */
const settingsSchema = z.unknown().transform((written, context): AgentSettings => {
  try {
    return patchSettings(defaultSettings, written);
  } catch (error) {
    context.addIssue(messageOf(error));
    return z.NEVER;
  }
});

/** A line of `tasks.json`. */
export type AgentTask = {
  readonly id: string;
  readonly containerId: string | undefined;
  readonly status: AgentStatus;
  /** Milliseconds since the epoch. */
  readonly lastActivity: number;
};

/** Prefix of folders whose agent is being removed. No id begins with a dot. */
const removedPrefix = '.removed-';

/** The files of agents: `tasks.json`, and the session, settings and workspace of each agent. */
export type AgentMemory = ReturnType<typeof createAgentMemory>;

/** Creates the memory in the data folder. All files are replaced as a whole, so that a crash leaves the old or the new one. */
export function createAgentMemory(
  dataDir: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
) {
  const folder = join(dataDir, 'agents');
  const folderOf = (id: string) => join(folder, id);
  const tasksFile = join(dataDir, 'tasks.json');
  const turns = new Map<string, Promise<unknown>>();

  /** Runs the writes of a file one after another. */
  async function inTurn(file: string, work: () => Promise<void>): Promise<void> {
    const done = (turns.get(file) ?? Promise.resolve()).then(work, work);
    turns.set(file, done);
    try {
      await done;
    } finally {
      if (turns.get(file) === done) turns.delete(file);
    }
  }

  /**
   * Parses a file. A damaged file is renamed, and counts as missing. Rejects with HUB_AGENT_STORE_FAILED if the file
   * cannot be read now.
   */
  async function read<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
    const text = await readText(file);
    if (text === undefined) return undefined;
    const { data, error } = schema.safeParse(tryParseJson(text));
    if (data !== undefined) return data;
    const problem = error?.issues[0]?.message ?? 'it is not JSON';
    const aside = `${file}.${new Date(clock.now()).toISOString().replaceAll(':', '-')}.aside`;
    await rename(file, aside).catch((cause: unknown) => {
      throw new HubError(
        'HUB_AGENT_STORE_FAILED',
        `${file} is damaged and cannot be renamed: ${messageOf(cause)}. Correct the permissions of its folder or its disk`,
        { cause },
      );
    });
    log.error({ file, aside, problem }, 'a file of an agent cannot be used and was set aside');
    return undefined;
  }

  const removeRest = (doomed: string) =>
    rm(doomed, { recursive: true, force: true }).catch((error: unknown) =>
      log.warn(
        { folder: doomed, error: messageOf(error) },
        'files of a removed agent could not be removed',
      ),
    );

  /** `value` is called when it is the turn of this write, so that the newest state is written. */
  const write = (file: string, value: () => object) =>
    inTurn(file, () => writeWhole(file, `${JSON.stringify(value(), null, 2)}\n`));

  return {
    workspaceOf: (id: string) => join(folderOf(id), 'workspace'),
    /** Lists the agents that have a folder. Finishes removals that a kill interrupted. Rejects with HUB_AGENT_STORE_FAILED. */
    async ids(): Promise<readonly string[]> {
      const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
        if (errorCodeOf(error) !== 'ENOENT') throw unreadable(folder, error);
      });
      for (const { name } of entries ?? [])
        if (name.startsWith(removedPrefix)) await removeRest(join(folder, name));
      return (entries ?? [])
        .filter(entry => entry.isDirectory() && agentIdPattern.test(entry.name))
        .map(({ name }) => name);
    },
    async readTasks(): Promise<readonly AgentTask[]> {
      const tasks = await read(tasksFile, tasksSchema);
      return (tasks?.agents ?? []).map(task => ({
        id: task.agent_id,
        containerId: task.container_id ?? undefined,
        status: task.status,
        lastActivity: Date.parse(task.last_activity) || 0,
      }));
    },
    /** `tasks` is called when it is the turn of this write. */
    writeTasks: (tasks: () => readonly AgentTask[]) =>
      write(tasksFile, () => ({ version: 1, agents: tasks().map(writtenTask) })),
    /** Rejects with HUB_AGENT_STORE_FAILED. */
    async create(id: string): Promise<void> {
      try {
        await mkdir(folderOf(id), { recursive: true, mode: 0o700 });
      } catch (cause) {
        throw new HubError(
          'HUB_AGENT_STORE_FAILED',
          `${id} was not created, because ${folderOf(id)} cannot be made: ${messageOf(cause)}. Free space on its disk`,
          { cause },
        );
      }
    },
    readSettings: async (id: string): Promise<AgentSettings> =>
      (await read(join(folderOf(id), 'settings.json'), settingsSchema)) ?? defaultSettings,
    writeSettings: (id: string, settings: AgentSettings) =>
      write(join(folderOf(id), 'settings.json'), () => writtenSettings(settings)),
    /** Tokens that the agent has spent on models. */
    async readSpent(id: string): Promise<readonly SpentTokens[]> {
      return (await read(join(folderOf(id), 'budget.json'), spentSchema))?.spent ?? [];
    },
    writeSpent: (id: string, spent: readonly SpentTokens[]) =>
      write(join(folderOf(id), 'budget.json'), () => ({ version: 1, spent })),
    /** Undefined for a new agent, and if the file was set aside. Rejects with HUB_AGENT_STORE_FAILED. */
    readSession: (id: string) => read(join(folderOf(id), 'session.json'), sessionSchema),
    /** Rejects with HUB_AGENT_STORE_FAILED. */
    async writeSession(session: AgentSession): Promise<void> {
      const file = join(folderOf(session.agentId), 'session.json');
      try {
        await write(file, () => session);
      } catch (cause) {
        throw new HubError(
          'HUB_AGENT_STORE_FAILED',
          `the conversation of ${session.agentId} cannot be written to ${file}: ${messageOf(cause)}. Free space on its disk`,
          { cause },
        );
      }
    },
    /** Renames the folder before it removes the files, so that a crash leaves no agent with half of its files. */
    async remove(id: string): Promise<void> {
      // The time makes the name unique: the files of an earlier agent of this id may still be there.
      const doomed = join(folder, `${removedPrefix}${id}-${clock.now()}`);
      await rename(folderOf(id), doomed).catch(ignoreMissing);
      await removeRest(doomed);
    },
  };
}

const writtenTask = ({ id, containerId, status, lastActivity }: AgentTask) => ({
  agent_id: id,
  container_id: containerId ?? null,
  status,
  last_activity: new Date(lastActivity).toISOString(),
});
