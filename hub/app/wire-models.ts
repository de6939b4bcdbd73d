import {
  type Config,
  type EnhancementRules,
  type ModelsConfig,
  type Settings,
  readModels,
} from '#config';
import type { ModelRuns, ModelSampling } from '#models';
import { createBreaker } from '#resilience';
import { createLazyPart } from './lazy-part.ts';
import type { System } from './system.ts';

type Needs = Omit<System, 'random'> & {
  /** Returns the active config. */
  readonly config: () => Pick<Config, 'models'>;
  /** Returns the active prompt rules, which also set the context sizes of models. */
  readonly rules: () => EnhancementRules;
};

/** The models of the hub. Prompts, agents and servers share one queue and one breaker. */
export type OpenModels = Awaited<ReturnType<typeof openModels>>;

export type ModelAccess = ReturnType<typeof createModelAccess>;

/** Timeout in ms of the trial call of an open breaker. Ollama may have to load the model first. */
const trialMs = 60_000;
const usual = readModels(undefined).models;

/** Creates the access to the models. Loads them on first use, because most hubs use none. */
export function createModelAccess(settings: Settings, needs: Needs) {
  const log = needs.log.child({ part: 'models' });
  const modelsConfig = () => needs.config().models ?? usual;
  const { url, model, isFound } = settings.ollama;
  if (isFound)
    log.info(
      { url },
      'an Ollama answers on this machine, and is used: OLLAMA_HOST=off in .env turns it off',
    );
  const defaultModel = () => modelsConfig().defaultModel ?? (url === undefined ? undefined : model);
  // Servers send sampling requests until they have stopped.
  const { open, opened, isUsable, stop } = createLazyPart(() =>
    openModels(settings, { ...needs, log, modelsConfig, defaultModel }),
  );
  const sampling: ModelSampling = {
    answer: async (...request) => await (await open()).sampling.answer(...request),
  };
  const runs: ModelRuns = {
    run: async (...request) => await (await open()).runs.run(...request),
    list: async signal => await (await open()).runs.list(signal),
  };
  return {
    open,
    /** Returns the models; undefined until they are loaded. */
    opened,
    /** Answers sampling requests of agents and servers. */
    sampling,
    /** Answers the model requests of the server `ollama-mcp`. */
    runs,
    /** The model of requests that name no model. */
    get defaultModel() {
      return defaultModel();
    },
    /** Returns the context size of a model in conversations, in tokens; undefined if it is unknown. */
    contextTokens: async (model: string) => (await open()).chats.contextTokens(model),
    /** Returns the names of all known chat models. Never rejects. */
    async names(signal: AbortSignal): Promise<readonly string[]> {
      return isUsable() ? await (await open()).chats.names(signal) : [];
    },
    start: async () => {},
    stop,
  };
}

async function openModels(
  { ollama, breaker: options }: Settings,
  needs: Needs & {
    readonly modelsConfig: () => ModelsConfig;
    readonly defaultModel: () => string | undefined;
  },
) {
  const { clock, log, newId, rules, modelsConfig, defaultModel } = needs;
  const room = await import('#models');
  const { contextSizeOf } = await import('#enhance');
  const ended = new AbortController();
  const stack = new DisposableStack();
  const newBreaker = () => stack.use(createBreaker({ ...options, trialMs }, clock));
  const system = { clock, log, fetch: room.patientFetch };
  const counts = room.createModelCounts();
  const models = room.createModels(
    { url: ollama.url, parallel: ollama.parallel },
    { ...system, breaker: newBreaker(), others: { counts, queues: () => chats.queues() } },
  );
  const contextSizes = room.createContextSizes({
    ofRules: model => contextSizeOf(model, rules(), ollama.model),
    ofChats: () => modelsConfig().contextTokens,
  });
  const configured = modelsConfig().defaultModel;
  const chats = room.createChats(
    () => ({
      defaultModel: defaultModel(),
      timeoutMs: modelsConfig().timeoutMs,
      silentMs: modelsConfig().silentMs,
      providers: new Map(Object.entries(modelsConfig().providers)),
    }),
    {
      ...system,
      models,
      contextSizes,
      newId,
      createBreaker: newBreaker,
      counts,
      life: ended.signal,
    },
  );
  if (configured !== undefined) contextSizes.forChat(configured);
  await models.start(ended.signal);
  return {
    models,
    contextSizes,
    chats,
    sampling: room.createSampling(chats),
    runs: room.createModelRuns(chats),
    async [Symbol.asyncDispose](): Promise<void> {
      ended.abort(new room.ModelFailure('cancelled', 'the hub stops'));
      await models.stop();
      stack.dispose();
    },
  };
}
