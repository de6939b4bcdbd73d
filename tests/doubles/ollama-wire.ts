import { isObject } from '#core';
import { dimensions, embeddingOf } from './ollama-embedding.ts';
import {
  type DoubleModel,
  type ModelShelf,
  detailsOf,
  modelNamed,
  tokensOf,
} from './ollama-models.ts';

/** What a model says. */
export type Reply = {
  readonly text: string;
  readonly thinking?: string;
  readonly doneReason?: 'stop' | 'length';
  /** False leaves out all that Ollama may leave out: counts, durations and the reason. */
  readonly hasCounts?: boolean;
};

/** What is asked of it. */
export type Asked = { readonly [key: string]: unknown };

/** An answer before it is sent: one value, or lines. */
export type Answer = {
  readonly status: number;
  readonly type: 'application/json; charset=utf-8' | 'application/x-ndjson' | 'text/plain';
  readonly values: readonly unknown[];
  /** Called before the last line is sent. */
  readonly completed?: () => void;
};

export type World = {
  readonly shelf: ModelShelf;
  readonly reply: (asked: Asked) => Reply;
  /** False: only /api/show names the capabilities of a model, as in Ollama 0.24.0. */
  readonly listsCapabilities: boolean;
  /** Time to read one token of a prompt, as answers report it. */
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

/** Answers as Ollama does (docs/openapi.yaml, server/routes.go). */
export function answerOf(method: string, path: string, asked: Asked, world: World): Answer {
  const route = routes[`${method} ${path}`];
  return route ? route(asked, world) : plain('404 page not found', 404);
}

type Route = (asked: Asked, world: World) => Answer;

const routes: Readonly<Record<string, Route>> = {
  'GET /': () => plain('Ollama is running', 200),
  'HEAD /': () => plain('', 200),
  'GET /api/version': () => one({ version }),
  'GET /api/tags': (_, { shelf, listsCapabilities }) =>
    one({ models: shelf.all().map(model => summaryOf(model, listsCapabilities)) }),
  'GET /api/ps': (_, { shelf }) => one({ models: shelf.loaded().map(runningOf) }),
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

const runningOf = (model: DoubleModel) => ({
  name: model.name,
  model: model.name,
  size: model.size,
  digest: model.digest,
  details: detailsOf(model),
  expires_at: '2026-10-17T16:47:07.93355-07:00',
  size_vram: model.size,
  context_length: model.contextLength,
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

function chat(asked: Asked, world: World): Answer {
  const { model: name, messages, think, keep_alive: keepAlive } = asked;
  const model = world.shelf.find(String(name));
  if (!model) return missing(name);
  if (!model.capabilities.includes('completion'))
    return failed(400, `"${model.name}" does not support chat`);
  if (think === true && !model.capabilities.includes('thinking'))
    return failed(400, `"${model.name}" does not support thinking`);
  const isLoad = world.shelf.load(model, keepAlive);
  const head = { model: model.name, created_at: new Date().toISOString() };
  const said = (role: string, content: string) => ({ ...head, message: { role, content } });
  if (!Array.isArray(messages) || messages.length === 0)
    return one({ ...said('assistant', ''), done: true, done_reason: 'load' });
  const prompt = messages.map(message => (isObject(message) ? String(message['content']) : ''));
  const told = tellOf(asked, model, prompt.join('\n'), world);
  if (!told) return tooLong;
  const thoughts = piecesOf(told.thinking).map(thinking => ({
    ...head,
    message: { role: 'assistant', content: '', thinking },
    done: false,
  }));
  const words = piecesOf(told.text).map(piece => ({ ...said('assistant', piece), done: false }));
  const end = { ...said('assistant', ''), done: true, ...told.figures(isLoad) };
  if (asked['stream'] !== false) return stream([...thoughts, ...words, end]);
  const thinking = told.thinking === '' ? {} : { thinking: told.thinking };
  return one({ ...end, message: { role: 'assistant', content: told.text, ...thinking } });
}

function generate(asked: Asked, world: World): Answer {
  const { model: name, prompt, keep_alive: keepAlive } = asked;
  const model = world.shelf.find(String(name));
  if (!model) return missing(name);
  if (!model.capabilities.includes('completion'))
    return failed(400, `"${model.name}" does not support generate`);
  const isLoad = world.shelf.load(model, keepAlive);
  const head = { model: model.name, created_at: new Date().toISOString() };
  if (typeof prompt !== 'string' || prompt === '')
    return one({ ...head, response: '', done: true, done_reason: 'load' });
  const told = tellOf(asked, model, prompt, world);
  if (!told) return tooLong;
  const end = { ...head, done: true, ...told.figures(isLoad) };
  if (asked['stream'] === false) return one({ ...end, response: told.text });
  const words = piecesOf(told.text).map(response => ({ ...head, response, done: false }));
  return stream([...words, { ...end, response: '' }]);
}

const tooLong = failed(400, 'the input length exceeds the context length');

/** What the model says, cut where num_predict says so; undefined where the prompt does not fit. */
function tellOf(asked: Asked, model: DoubleModel, prompt: string, { reply, promptTokenMs }: World) {
  const options = isObject(asked['options']) ? asked['options'] : {};
  const window = Number(options['num_ctx'] ?? model.contextLength);
  if (asked['truncate'] === false && tokensOf(prompt) > window) return undefined;
  const { text, thinking = '', doneReason = 'stop', hasCounts = true } = reply(asked);
  const most = Number(options['num_predict'] ?? -1);
  const isCut = most >= 0 && tokensOf(text) > most;
  const kept = isCut
    ? text
        .split(/(?<=\s)/)
        .slice(0, most)
        .join('')
    : text;
  return {
    text: kept,
    thinking,
    figures: (isLoad: boolean) =>
      hasCounts
        ? {
            done_reason: isCut ? 'length' : doneReason,
            total_duration: 174_560_334,
            load_duration: isLoad ? 101_397_084 : 1_397_084,
            prompt_eval_count: tokensOf(prompt),
            prompt_eval_duration:
              promptTokenMs === undefined
                ? 13_074_791
                : Math.round(promptTokenMs * tokensOf(prompt) * 1e6),
            eval_count: tokensOf(kept),
            eval_duration: 52_479_709,
          }
        : {},
  };
}

/** Words with the space after them, as tokens come. */
const piecesOf = (text: string): readonly string[] => (text === '' ? [] : text.split(/(?<=\s)/));

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
  // As in Ollama 0.24.0, a model is listed when its pull is complete.
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
