import { isObject } from '#core';
import { dimensions, embeddingOf } from './ollama-embedding.ts';
import type { Fault } from './ollama-faults.ts';
import {
  type DoubleModel,
  type ModelShelf,
  detailsOf,
  modelNamed,
  tokensOf,
} from './ollama-models.ts';
import { type Asked, type Reply, contentOf, piecesOf, tellOf } from './ollama-reply.ts';

/** An answer before it is sent: one JSON value, or the lines of a stream. */
export type Answer = {
  readonly status: number;
  readonly type: 'application/json; charset=utf-8' | 'application/x-ndjson' | 'text/plain';
  readonly values: readonly unknown[];
  /** Called before the last line of the answer is sent. */
  readonly completed?: () => void;
  /** Fault with which the answer is sent. */
  readonly fault?: Fault | undefined;
};

type World = {
  readonly shelf: ModelShelf;
  readonly reply: (asked: Asked) => Reply | Promise<Reply>;
  /** Whether /api/tags lists the capabilities of models. False: only /api/show has them, as in Ollama 0.24.0. */
  readonly listsCapabilities: boolean;
  /** Time in ms to read one token of a prompt, as answers report it. */
  readonly promptTokenMs?: number;
};

const version = '0.40.1';

const one = (value: unknown, status = 200): Answer => ({
  status,
  type: 'application/json; charset=utf-8',
  values: [value],
});
const stream = (values: readonly unknown[]): Answer => ({
  status: 200,
  type: 'application/x-ndjson',
  values,
});
const plain = (text: string, status: number): Answer => ({
  status,
  type: 'text/plain',
  values: [text],
});
const failed = (status: number, error: string) => one({ error }, status);
const missing = (name: unknown) => failed(404, `model '${String(name)}' not found`);

/** Answers a request as Ollama does (docs/openapi.yaml, server/routes.go). */
export async function answerOf(
  method: string,
  path: string,
  asked: Asked,
  world: World,
): Promise<Answer> {
  const route = routes[`${method} ${path}`];
  return route ? await route(asked, world) : plain('404 page not found', 404);
}

type Route = (asked: Asked, world: World) => Answer | Promise<Answer>;

const routes: Readonly<Record<string, Route>> = {
  'GET /': () => plain('Ollama is running', 200),
  'HEAD /': () => plain('', 200),
  'GET /api/version': () => one({ version }),
  'GET /api/tags': (_, { shelf, listsCapabilities }) =>
    one({ models: shelf.all().map(model => summaryOf(model, listsCapabilities)) }),
  'GET /api/ps': (_, { shelf }) =>
    one({ models: shelf.loaded().map(model => runningOf(model, shelf.contextOf(model))) }),
  'POST /api/show': ({ model, name }, { shelf }) => {
    const found = shelf.find(String(model ?? name));
    return found ? one(shownOf(found)) : missing(model ?? name);
  },
  'POST /api/chat': chat,
  'POST /api/generate': generate,
  'POST /api/embed': embed,
  'POST /api/embeddings': ({ model, prompt }, { shelf }) =>
    shelf.find(String(model)) ? one({ embedding: embeddingOf(String(prompt)) }) : missing(model),
  'POST /api/pull': pull,
  'DELETE /api/delete': ({ model, name }, { shelf }) =>
    shelf.remove(String(model ?? name)) ? plain('', 200) : missing(model ?? name),
};

const summaryOf = (model: DoubleModel, listsCapabilities: boolean) => ({
  name: model.name,
  model: model.name,
  modified_at: '2026-08-14T15:49:43.634137516-07:00',
  size: model.size,
  digest: model.digest,
  details: detailsOf(model),
  ...(listsCapabilities && { capabilities: model.capabilities }),
});

const runningOf = (model: DoubleModel, context: number) => ({
  name: model.name,
  model: model.name,
  size: model.size,
  digest: model.digest,
  details: detailsOf(model),
  expires_at: '2026-10-17T16:47:07.93355-07:00',
  size_vram: model.size,
  context_length: context,
});

const shownOf = (model: DoubleModel) => ({
  parameters: 'num_ctx 4096',
  license: 'MIT',
  template: '{{ .Prompt }}',
  modified_at: '2026-08-14T15:49:43.634137516-07:00',
  details: detailsOf(model),
  model_info: { 'general.architecture': 'llama', 'llama.context_length': model.contextLength },
  capabilities: model.capabilities,
});

async function chat(asked: Asked, world: World): Promise<Answer> {
  const { model: name, messages, tools, think, keep_alive: keepAlive } = asked;
  const model = world.shelf.find(String(name));
  if (!model) return missing(name);
  const lacks = (capability: string, words = capability) =>
    model.capabilities.includes(capability)
      ? undefined
      : failed(400, `"${model.name}" does not support ${words}`);
  const refusal =
    lacks('completion', 'chat') ??
    (think === true ? lacks('thinking') : undefined) ??
    (Array.isArray(tools) && tools.length > 0 ? lacks('tools') : undefined);
  if (refusal) return refusal;
  const isLoad = world.shelf.load(model, keepAlive, asked['options']);
  const head = { model: model.name, created_at: new Date().toISOString() };
  const said = (content: string, more: object = {}) => ({
    ...head,
    message: { role: 'assistant', content, ...more },
  });
  if (!Array.isArray(messages) || messages.length === 0)
    return one({ ...said(''), done: true, done_reason: 'load' });
  const wrong = messages.flatMap(callsIn).find(({ arguments: given }) => !isObject(given));
  if (wrong) return failed(400, argumentsNoObject);
  const prompt = messages.map(contentOf).join('\n');
  const told = await tellOf(asked, model, prompt, world);
  if (!told) return tooLong;
  const { thinking, pieces, fault } = told;
  // Ollama sends each call complete, in a line of its own, and ends with `stop`.
  const calls = told.toolCalls.map(({ id, name: called, arguments: input }, index) => ({
    ...(id !== undefined && { id }),
    function: { index, name: called, arguments: input },
  }));
  const lines = [
    ...piecesOf(thinking).map(piece => said('', { thinking: piece })),
    ...pieces.map(piece => said(piece)),
    ...calls.map(call => said('', { tool_calls: [call] })),
  ].map(line => ({ ...line, done: false }));
  const figures = { done: true, ...told.figures(isLoad) };
  if (asked['stream'] !== false)
    return { ...stream([...lines, { ...said(''), ...figures }]), fault };
  const more = {
    ...(thinking !== '' && { thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return { ...one({ ...said(told.text, more), ...figures }), fault };
}

/** Error message of Ollama's JSON decoder. */
const argumentsNoObject =
  'json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments of type api.ToolCallFunctionArguments';

/** Returns the tool calls in a message of the history. */
function callsIn(message: unknown): readonly { readonly [key: string]: unknown }[] {
  const calls = isObject(message) ? message['tool_calls'] : undefined;
  return Array.isArray(calls)
    ? calls.map(call => (isObject(call) && isObject(call['function']) ? call['function'] : {}))
    : [];
}

async function generate(asked: Asked, world: World): Promise<Answer> {
  const { model: name, prompt, keep_alive: keepAlive } = asked;
  const model = world.shelf.find(String(name));
  if (!model) return missing(name);
  if (!model.capabilities.includes('completion'))
    return failed(400, `"${model.name}" does not support generate`);
  const isLoad = world.shelf.load(model, keepAlive, asked['options']);
  const head = { model: model.name, created_at: new Date().toISOString() };
  if (typeof prompt !== 'string' || prompt === '')
    return one({ ...head, response: '', done: true, done_reason: 'load' });
  const told = await tellOf(asked, model, prompt, world);
  if (!told) return tooLong;
  const end = { ...head, done: true, ...told.figures(isLoad) };
  if (asked['stream'] === false) return one({ ...end, response: told.text });
  const words = told.pieces.map(response => ({ ...head, response, done: false }));
  return stream([...words, { ...end, response: '' }]);
}

const tooLong = failed(400, 'the input length exceeds the context length');

function embed(asked: Asked, { shelf }: World): Answer {
  const { model: name, input, truncate, dimensions: size, keep_alive: keepAlive } = asked;
  const model = shelf.find(String(name));
  if (!model) return missing(name);
  if (input !== undefined && typeof input !== 'string' && !Array.isArray(input))
    return failed(400, 'invalid input type');
  const isLoad = shelf.load(model, keepAlive);
  const texts = (Array.isArray(input) ? input.map(String) : [String(input ?? '')]).filter(Boolean);
  if (texts.length === 0) return one({ model: name, embeddings: [] });
  if (truncate === false && texts.some(text => tokensOf(text) > model.contextLength))
    return tooLong;
  const fitting = texts.map(text =>
    text
      .split(/(?<=\s)/)
      .slice(0, model.contextLength)
      .join(''),
  );
  return one({
    model: name,
    embeddings: fitting.map(text => embeddingOf(text, Number(size ?? dimensions))),
    total_duration: 14_143_917,
    load_duration: isLoad ? 11_019_500 : 1_019_500,
    prompt_eval_count: fitting.map(tokensOf).reduce((sum, count) => sum + count, 0),
  });
}

function pull({ model, name, stream: isStream }: Asked, { shelf }: World): Answer {
  const wanted = String(model ?? name);
  if (!shelf.find(wanted) && !shelf.isPullable(wanted))
    return isStream === false
      ? failed(500, 'pull model manifest: file does not exist')
      : stream([
          { status: 'pulling manifest' },
          { error: 'pull model manifest: file does not exist' },
        ]);
  const made = modelNamed(wanted);
  // As in Ollama 0.24.0, a model is listed once its pull is complete.
  const completed = () => shelf.add(made);
  const digest = `sha256:${made.digest}`;
  const layer = { status: `pulling ${made.digest.slice(0, 12)}`, digest, total: made.size };
  const steps = [
    { status: 'pulling manifest' },
    layer,
    { ...layer, completed: 1_009_696_594 },
    { ...layer, completed: made.size },
    { status: 'verifying sha256 digest' },
    { status: 'writing manifest' },
    { status: 'success' },
  ];
  return { ...(isStream === false ? one({ status: 'success' }) : stream(steps)), completed };
}
