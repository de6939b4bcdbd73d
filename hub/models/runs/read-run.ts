import { HubError, type JsonObject, isJsonObject } from '#core';
import { isCount, isTexts } from '../sampling/read-params.ts';

/** Params of `agenthub/models/run`: a prompt that the server `ollama-mcp` sends. */
type RunParams = {
  readonly model: string;
  readonly prompt: string;
  readonly system: string | undefined;
  readonly format: JsonObject | 'json' | undefined;
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly stopSequences: readonly string[];
  readonly tuning: Readonly<Record<string, number>>;
  readonly timeoutMs: number;
};

/** Maximum length of the prompt and the system prompt together, in characters. */
const maxPromptLength = 1_000_000;
const maxNameLength = 200;
/** Maximum length of a JSON schema in characters. */
const maxFormatLength = 100_000;
const maxStops = 16;
const maxTimeoutMs = 24 * 60 * 60_000;

/** Options that are passed to the model unchanged, named as in Ollama. */
const tuned = [
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'repeat_penalty',
  'presence_penalty',
  'frequency_penalty',
];
const known = ['temperature', 'num_predict', 'stop', ...tuned];

/** Reads the params of `agenthub/models/run`. Throws HUB_REQUEST_INVALID. */
export function readRun(params: unknown): RunParams {
  if (!isJsonObject(params)) throw invalid('params', 'is not an object', 'send an object');
  const { model, prompt, system, format, timeoutMs } = params;
  if (typeof model !== 'string' || model === '' || model.length > maxNameLength)
    throw invalid('model', 'is not a name', 'send the name of a model, such as "llama3.2:3b"');
  if (typeof prompt !== 'string' || prompt === '')
    throw invalid('prompt', 'is not a string, or is empty', 'send a text');
  if (system !== undefined && typeof system !== 'string')
    throw invalid('system', 'is not a string', 'send a text, or leave it out');
  const length = prompt.length + (system?.length ?? 0);
  if (length > maxPromptLength)
    throw invalid('prompt', `has ${length} characters`, `send at most ${maxPromptLength}`);
  if (!isCount(timeoutMs) || timeoutMs > maxTimeoutMs)
    throw invalid('timeoutMs', 'is not a duration', `send a whole number up to ${maxTimeoutMs}`);
  return {
    model,
    prompt,
    system,
    format: readFormat(format),
    timeoutMs,
    ...readOptions(params['options'] ?? {}),
  };
}

function readFormat(format: unknown): RunParams['format'] {
  if (format === undefined || format === 'json') return format;
  if (!isJsonObject(format))
    throw invalid('format', 'is not a JSON schema', 'send "json", or a JSON schema as an object');
  const { length } = JSON.stringify(format);
  if (length > maxFormatLength)
    throw invalid('format', `has ${length} characters`, `send at most ${maxFormatLength}`);
  return format;
}

function readOptions(
  options: unknown,
): Pick<RunParams, 'maxTokens' | 'temperature' | 'stopSequences' | 'tuning'> {
  if (!isJsonObject(options)) throw invalid('options', 'is not an object', 'send an object');
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw invalid(
        `options.${name}`,
        name === 'num_ctx'
          ? 'is set by the server, because Ollama loads a model again when it changes'
          : 'is unknown',
        name === 'num_ctx' ? 'leave it out' : `send only ${known.join(', ')}`,
      );
  const { num_predict: maxTokens, temperature, stop = [] } = options;
  if (maxTokens !== undefined && !isCount(maxTokens))
    throw invalid(
      'options.num_predict',
      'is not a number of tokens',
      'send a whole number from 1 on',
    );
  if (temperature !== undefined && !isNumber(temperature))
    throw invalid('options.temperature', 'is not a number', 'send a number from 0 on');
  if (temperature !== undefined && temperature < 0)
    throw invalid('options.temperature', 'is below 0', 'send a number from 0 on');
  const stopSequences = typeof stop === 'string' ? [stop] : stop;
  if (!isTexts(stopSequences) || stopSequences.length > maxStops)
    throw invalid('options.stop', 'is not a list of strings', `send at most ${maxStops} texts`);
  const tuning: Record<string, number> = {};
  for (const name of tuned) {
    const value = options[name];
    if (value === undefined) continue;
    if (!isNumber(value)) throw invalid(`options.${name}`, 'is not a number', 'send a number');
    tuning[name] = value;
  }
  return { maxTokens, temperature, stopSequences, tuning };
}

const isNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value);

const invalid = (field: string, problem: string, remedy: string): HubError =>
  new HubError('HUB_REQUEST_INVALID', `${field} ${problem}: ${remedy}`);
