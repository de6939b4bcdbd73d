/** Settings of the server: where its models are if it runs without a hub, and its limits. */
export type Settings = {
  readonly place:
    | { readonly kind: 'ollama'; readonly url: string; readonly contextTokens: number }
    /** An OpenAI-compatible API, instead of Ollama. */
    | { readonly kind: 'openai'; readonly url: string; readonly key: string | undefined };
  /** Names of the models that may be run. Undefined: all. */
  readonly allowed: readonly string[] | undefined;
  /** Maximum duration of a call in seconds. */
  readonly maxSeconds: number;
};

const port = 11_434;
const defaultContext = 8_192;
const defaultSeconds = 3_600;
const maxSeconds = 86_400;

/** Reads the settings from the environment. Throws an error that lists all invalid variables. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const problems: string[] = [];
  const read = (name: string) => env[name]?.trim() || undefined;

  function wholeIn(name: string, least: number, most: number, usual: number): number {
    const written = read(name);
    if (written === undefined) return usual;
    const value = Number(written);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    problems.push(
      `${name} is ${JSON.stringify(written)}: set a whole number from ${least} to ${most}`,
    );
    return usual;
  }

  const openai = read('OPENAI_BASE_URL');
  const ollama = addressOf(read('OLLAMA_HOST') ?? `127.0.0.1:${port}`);
  if (openai !== undefined && !isBaseUrl(openai))
    problems.push(
      'OPENAI_BASE_URL is not a base URL: set one with http:// or https://, such as http://127.0.0.1:8080/v1',
    );
  if (ollama === undefined)
    problems.push('OLLAMA_HOST is not an address: set one such as 127.0.0.1:11434');
  const contextTokens = wholeIn('OLLAMA_CONTEXT_LENGTH', 256, 10_000_000, defaultContext);
  const seconds = wholeIn('OLLAMA_MCP_MAX_SECONDS', 1, maxSeconds, defaultSeconds);
  const allowed = (read('OLLAMA_MCP_MODELS') ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '');
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return {
    place:
      openai === undefined
        ? { kind: 'ollama', url: ollama ?? '', contextTokens }
        : { kind: 'openai', url: openai.replace(/\/+$/, ''), key: read('OPENAI_API_KEY') },
    allowed: allowed.length > 0 ? allowed : undefined,
    maxSeconds: seconds,
  };
}

/** Parses OLLAMA_HOST as Ollama does: a URL, `host`, `host:port` or `:port`. Replaces 0.0.0.0 by 127.0.0.1. */
function addressOf(written: string): string | undefined {
  const isUrl = /^https?:\/\//i.test(written);
  const url = URL.parse(isUrl ? written : `http://${written.replace(/^:/, '127.0.0.1:')}`);
  if (!url || url.search + url.hash !== '') return undefined;
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.port === '' && !isUrl) url.port = String(port);
  return url.href.replace(/\/+$/, '');
}

function isBaseUrl(written: string): boolean {
  const url = URL.parse(written);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username + url.password + url.search + url.hash === ''
  );
}
