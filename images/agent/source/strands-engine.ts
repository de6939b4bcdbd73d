import {
  Agent,
  FunctionTool,
  type Message,
  SlidingWindowConversationManager,
} from '@strands-agents/sdk';
import {
  beginningOf,
  compact,
  describeMessages,
  loadedFiles,
  restoreMessages,
  snapshotOf,
  textMessage,
} from './conversation.ts';
import { HubFailure, type HubLink, contextFull } from './hub-link.ts';
import { HubModel } from './hub-model.ts';
import { createLoadTool, createUseAgent, hubTool, keyOf, listHubTools } from './tools/hub-tools.ts';
import { fileTools } from './tools/files.ts';
import { createProcessTools, networkNote, runShell, usualSeconds } from './tools/processes.ts';
import { inTurns } from './tools/tool.ts';
import { workspace } from './tools/workspace.ts';
import type { AgentMessage, AgentTool, Briefing, Settings, TurnResult } from './types.ts';

const generalPrompt = `You are a capable assistant that works in its own Linux container. Your folder is /workspace: keep your files there. Use your tools to do what you are asked, and check the result before you say that it is done. ${networkNote} When a tool fails, read its message and correct the call. Answer in plain text, briefly and completely.`;

const summaryPrompt =
  'Summarise this conversation between a user and an assistant with tools. Keep facts, decisions, names of files, open questions and what the user wants. At most 400 words.';

/** Names of tools that the agent runtime accepts. The runtime answers calls of other names with an error. */
const isToolName = /^[\w-]{1,64}$/;

/** Maximum length of a tool result for the model, in characters. Longer results are cut. */
const maxResultChars = 16_000;

type Current = { readonly id: string; readonly controller: AbortController };

/**
 * Creates the engine of the agent, which hides the library that runs it. Each turn runs in a new Agent of
 * @strands-agents/sdk, with the messages so far.
 */
export function createStrandsEngine(link: HubLink, first: Settings) {
  let settings = first;
  /** Messages for the model. A summary may have replaced older messages. */
  let messages: readonly Message[] = [];
  /** All messages of the conversation. */
  let conversation: AgentMessage[] = [];
  let unhanded: AgentMessage[] = [];
  let current: Current | undefined;
  /** As measured with the last answer of the model. */
  let charsPerToken: number | undefined;
  const loaded = new Map<string, AgentTool>();
  /** Files of the tools that the agent has loaded in earlier containers. */
  let filesToLoad: ReadonlySet<unknown> = new Set();
  const seconds = () => settings.shell_seconds ?? usualSeconds;
  const processes = createProcessTools(seconds);

  /** Names of the tools that an agent has or can be granted later. */
  const ownNames: ReadonlySet<string> = new Set([
    ...[...fileTools, ...processes].map(({ name }) => name),
    'use_agent',
    'load_tool',
  ]);

  async function ownTools(signal: AbortSignal): Promise<readonly AgentTool[]> {
    const loadTool = settings.load_tool
      ? createLoadTool(
          (command, input, ending) =>
            runShell({ folder: workspace, command, input, seconds: seconds(), signal: ending }),
          name => ownNames.has(name),
          tool => loaded.set(tool.name, tool),
        )
      : undefined;
    if (loadTool) {
      for (const file of filesToLoad) await loadTool.call({ file }, signal).catch(() => undefined); // The file is gone, or is not a tool now.
      filesToLoad = new Set();
    }
    return [
      ...inTurns([...fileTools, ...processes, ...(loadTool ? [loadTool, ...loaded.values()] : [])]),
      ...(settings.use_agent.length > 0 ? [createUseAgent(link, settings.use_agent)] : []),
    ];
  }

  /** Runs a turn and resolves with the answer of the model. Rejects if the turn fails or is cancelled. */
  async function run(message: string, model: HubModel, agents: Agent[], signal: AbortSignal) {
    const own = await ownTools(signal);
    const listed = listHubTools(link, own, signal);
    listed.catch(() => undefined); // Awaited below, unless the compaction fails first.
    messages = await compact(messages, settings.context_tokens, charsPerToken, text =>
      model.ask(summaryPrompt, text),
    );
    const agent = new Agent({
      model,
      messages: [...messages],
      systemPrompt: settings.system ?? generalPrompt,
      tools: own.map(tool => runtimeTool(tool, signal)),
      // `compact` shortens the conversation between turns. Within a turn, the runtime does if the context is full.
      conversationManager: new SlidingWindowConversationManager({ windowSize: Infinity }),
      printer: false,
    });
    // The hub lists its tools while the agent is created.
    for (const tool of await listed) agent.toolRegistry.add(runtimeTool(tool, signal));
    agents.push(agent);
    // Adds a tool that is called but not listed: the hub then refuses the call and records it.
    model.calling = name => {
      const { toolRegistry } = agent;
      const isTaken = toolRegistry.list().some(tool => keyOf(tool.name) === keyOf(name));
      if (isTaken || !isToolName.test(name)) return;
      toolRegistry.add(runtimeTool(hubTool(link, name), signal));
    };
    const { stopReason } = await agent.invoke(message, {
      limits: { turns: settings.steps_per_turn },
    });
    signal.throwIfAborted();
    if (stopReason === 'limitTurns')
      throw new HubFailure(
        'HUB_BUDGET_SPENT',
        `the agent needed more than ${settings.steps_per_turn} steps. Divide the task, or raise steps_per_turn of its budget`,
        false,
      );
    const text = textOf(agent.messages.at(-1));
    if (text === '')
      throw new HubFailure('HUB_MODEL_FAILED', 'the model answered with an empty text', false);
    return text;
  }

  return {
    /** Runs a turn for a message. Call it for one message at a time. Never rejects: a failed turn is a result. */
    async chat(id: string, message: string, ending: AbortSignal): Promise<TurnResult> {
      const controller = new AbortController();
      const signal = AbortSignal.any([controller.signal, ending]);
      current = { id, controller };
      const model = new HubModel({
        link,
        model: settings.model,
        signal,
      });
      const agents: Agent[] = [];
      const aborted = Promise.withResolvers<never>();
      aborted.promise.catch(() => undefined);
      signal.addEventListener('abort', () => {
        for (const agent of agents) agent.cancel();
        aborted.reject(signal.reason);
      });
      let text = '';
      let error: { code: string; message: string } | undefined;
      let status: TurnResult['status'] = 'answered';
      try {
        // A model or a tool that ignores the abort signal must not delay the end of the turn.
        text = await Promise.race([run(message, model, agents, signal), aborted.promise]);
      } catch (cause) {
        status = signal.aborted ? 'cancelled' : 'failed';
        const failure = cause instanceof HubFailure ? cause : model.failure;
        const known = failure ?? (cause instanceof Error ? cause : new Error(String(cause)));
        if (status === 'failed')
          error = { code: failure?.code ?? 'HUB_AGENT_FAILED', message: known.message };
      }
      charsPerToken = model.charsPerToken ?? charsPerToken;
      const at = new Date().toISOString();
      const all = agents[0]?.messages ?? [];
      // Finds the turn by its message: a summary may have replaced older messages, so earlier indexes are not valid.
      const start = agents.length > 0 ? all.findLastIndex(one => isQuestion(one, message)) : -1;
      const added = start === -1 ? [] : all.slice(start);
      const described = describeMessages(
        id,
        added.length > 0 ? added : [textMessage('user', message)],
        at,
      );
      messages =
        status === 'answered'
          ? all.slice()
          : [
              ...messages,
              textMessage('user', error?.code === contextFull ? beginningOf(message) : message),
              textMessage(
                'assistant',
                `(This turn ended without an answer: ${error?.message ?? status}.${calledIn(added)})`,
              ),
            ];
      conversation = [...conversation, ...described];
      unhanded = [...unhanded, ...described];
      current = undefined;
      return {
        message_id: id,
        status,
        text,
        ...(error && { error }),
        messages: unhanded,
        usage: { ...model.usage },
        model: model.answeredBy ?? null,
        snapshot: snapshotOf(messages),
      };
    },
    /** Returns the `count` newest messages, oldest first. */
    history: (count: number): readonly AgentMessage[] => conversation.slice(-count),
    health: () =>
      current
        ? ({ status: 'working', message_id: current.id } as const)
        : ({ status: 'idle' } as const),
    /** Cancels the turn of a message. Returns false if the turn is not running. */
    cancel(id: string): boolean {
      if (current?.id !== id) return false;
      current.controller.abort(new Error('cancelled'));
      return true;
    },
    /** Call this when the hub has received the messages of the last result: later results omit them. */
    handedOver(): void {
      unhanded = [];
    },
    /** Applies the settings, and restores the session unless the agent has a conversation: that is at least as new. */
    brief({ settings: wanted, session }: Briefing): void {
      if (wanted) settings = wanted;
      if (!session || conversation.length > 0) return;
      messages = restoreMessages(session.snapshot, session.messages);
      conversation = [...session.messages];
      filesToLoad = loadedFiles(conversation);
    },
  };
}

export type StrandsEngine = ReturnType<typeof createStrandsEngine>;

function runtimeTool({ name, description, inputSchema, call }: AgentTool, signal: AbortSignal) {
  return new FunctionTool({
    name,
    // The agent runtime rejects an empty description.
    description: description || name,
    inputSchema,
    async callback(input: unknown): Promise<string> {
      const { text, isError } = await call(input, signal);
      const shown =
        text.length > maxResultChars
          ? `${text.slice(0, maxResultChars)}\n[${text.length - maxResultChars} more characters were cut]`
          : text;
      if (isError) throw new Error(shown);
      return shown;
    },
  });
}

const isQuestion = ({ role, content }: Message, text: string) =>
  role === 'user' && content.some(block => block.type === 'textBlock' && block.text === text);

const textOf = (message: Message | undefined): string =>
  (message?.content ?? [])
    .flatMap(block => (block.type === 'textBlock' ? [block.text] : []))
    .join('\n')
    .trim();

/** Returns a note of the tools that a failed turn has called, so that the model does not call them twice. */
function calledIn(messages: readonly Message[]): string {
  const names = messages.flatMap(({ content }) =>
    content.flatMap(block => (block.type === 'toolUseBlock' ? [block.name] : [])),
  );
  return names.length === 0 ? '' : ` Tools that were called: ${names.join(', ')}.`;
}
