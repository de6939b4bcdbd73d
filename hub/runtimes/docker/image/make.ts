import { stripVTControlCharacters } from 'node:util';
import { HubError, errorCodeOf, isObject, messageOf } from '#core';
import type { Engine } from '../engine/engine.ts';
import { EngineError } from '../engine/errors.ts';
import type { BuildLimits, BuildOptions } from '../engine/images.ts';
import { jsonLines } from '../engine/events.ts';
import { createBuildOutput } from './lock.ts';

/** Maximum number of output lines in the error of a failed build. Installers print the cause at the end. */
const shownLines = 20;
const shownCharacters = 3000;

type Build = {
  readonly engine: Pick<Engine, 'buildImage'>;
  readonly context: Buffer;
  readonly image: BuildOptions;
  readonly limits: BuildLimits & { readonly network: string };
};

/** Builds an image. Resolves with the lock that the build printed. */
export async function build(
  { engine, context, image, limits }: Build,
  progress: (text: string) => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const output = createBuildOutput();
  const shown: string[] = [];
  let isScript = false;
  const show = (lines: readonly string[]) => {
    for (const text of lines.flatMap(textOf)) {
      isScript ||= text === scriptFailed;
      shown.push(text);
      if (shown.length > shownLines) shown.shift();
      progress(text);
    }
  };
  try {
    for await (const line of jsonLines(await engine.buildImage(context, image, limits, signal))) {
      if (typeof line['stream'] === 'string') show(output.push(line['stream']));
      if (typeof line['error'] !== 'string') continue;
      show(output.end());
      throw failed(image, shown, isScript, line['error']);
    }
  } catch (error) {
    if (error instanceof EngineError) throw failed(image, shown, false, error.words, error);
    throw brokenOff(`the build of ${image.tag}`, error);
  }
  return output.lock();
}

/** Messages of the builder that do not help an operator. */
const bookkeeping =
  /^( ---> |Step \d+\/\d+ : |Removing intermediate |Successfully (built|tagged) )/;

/** Returns the readable text of an output line, if any. */
function textOf(line: string): readonly string[] {
  const text = stripVTControlCharacters(line).trimEnd();
  return text === '' || bookkeeping.test(text) ? [] : [text];
}

function failed(
  { tag, package: name = tag }: BuildOptions,
  output: readonly string[],
  isScript: boolean,
  words: string,
  cause?: unknown,
): HubError {
  // If a command failed, the cause is in its output; the builder only repeats the command.
  const isStep = words.includes('returned a non-zero code') && output.length > 0;
  const why = isStep ? output.join('\n').slice(-shownCharacters).toWellFormed() : words;
  const problem = `the image for ${name} could not be built`;
  const isCutOff = isStep ? isInstallerCutOff(why) : isEngineCutOff(words);
  if (isCutOff && !isScript)
    return new HubError(
      'HUB_REGISTRY_UNREACHABLE',
      `${problem}, as a registry cannot be reached:\n${why}`,
      { cause, data: { retryable: true } },
    );
  if (isCutOff)
    return new HubError(
      'HUB_IMAGE_BUILD_FAILED',
      `${problem}, as an install script could not reach a server. ${scriptRemedy}:\n${why}`,
      { cause, data: { retryable: false } },
    );
  return new HubError('HUB_IMAGE_BUILD_FAILED', `${problem}:\n${why}`, { cause });
}

/** Line of npm if an install script of a package failed. The registry had answered by then. */
const scriptFailed = 'npm error command failed';
const scriptRemedy =
  'The script needs the network: let builds reach the host that it names, then start the server again';

/** Output of npm, or of an install script, if a server did not answer or was overloaded. */
const npm =
  /npm error .*\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ECONNABORTED|ETIMEDOUT|ESOCKETTIMEDOUT|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|ENETUNREACH|EHOSTUNREACH|E429|E5\d\d)\b|npm error network /;

/**
 * Output of pip if its index does not answer. It means failure only together with `pipEnds`; otherwise a retry
 * succeeded.
 */
const pipRetries =
  /after connection broken by|Temporary failure in name resolution|Max retries exceeded/;
const pipEnds =
  /No matching distribution found|Max retries exceeded|Read timed out|ConnectionError|HTTP error 5\d\d|5\d\d Server Error/;

/** Output of apt-get if a mirror does not answer. With a status such as 404, the mirror has answered. */
const apt = /^[WE]: Failed to fetch \S+ +(?! |4\d\d )/m;
/** Output of uv if its index does not answer or has troubles. uv retries nothing else. */
const uv = /Request failed after \d+ retries/;

/** True if the installer could not reach its registry, so that a retry may succeed. */
const isInstallerCutOff = (output: string) =>
  [npm, apt, uv].some(pattern => pattern.test(output)) ||
  (pipRetries.test(output) && pipEnds.test(output));

/** True if the build failed because the registry has no package of that name. */
export const isPackageAbsent = ({ code, message }: HubError): boolean =>
  code === 'HUB_IMAGE_BUILD_FAILED' && /npm error code E404|\(from versions: none\)/.test(message);

/** Pulls an image. Rejects with HUB_IMAGE_MISSING, HUB_REGISTRY_UNREACHABLE or HUB_ENGINE_UNREACHABLE. */
export async function pull(
  engine: Pick<Engine, 'pullImage'>,
  reference: string,
  progress: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const [name, tag] = splitReference(reference);
  try {
    for await (const line of jsonLines(await engine.pullImage(name, tag, signal))) {
      if (typeof line['error'] === 'string') throw missing(reference, line['error']);
      // Lines with byte counts are skipped: they arrive many times per second.
      if (typeof line['status'] === 'string' && !isObject(line['progressDetail']))
        progress(line['status']);
    }
  } catch (error) {
    if (error instanceof EngineError) throw missing(reference, error.words, error);
    throw brokenOff(`the pull of ${reference}`, error);
  }
}

/** Converts the error of a stream that broke, as when the engine is restarted. Returns other errors as they are. */
function brokenOff(what: string, error: unknown): unknown {
  if (error instanceof HubError || errorCodeOf(error) === undefined) return error;
  return new HubError(
    'HUB_ENGINE_UNREACHABLE',
    `the Docker engine broke off ${what}: ${messageOf(error)}. Check that Docker runs (docker info)`,
    { cause: error, data: { retryable: true } },
  );
}

/** Splits a reference, with the default tag `latest`: without a tag, the engine would pull all tags. */
function splitReference(reference: string): readonly [name: string, tag: string] {
  const [name = reference, digest] = reference.split('@');
  if (digest !== undefined) return [name, digest];
  const colon = reference.lastIndexOf(':');
  return colon > reference.lastIndexOf('/')
    ? [reference.slice(0, colon), reference.slice(colon + 1)]
    : [reference, 'latest'];
}

export function missing(reference: string, words: string, cause?: unknown): HubError {
  const image = `the image ${reference} is not on this engine`;
  const remedy = `or bring it there (docker pull ${reference})`;
  return isEngineCutOff(words)
    ? new HubError(
        'HUB_REGISTRY_UNREACHABLE',
        `${image}, and its registry cannot be reached: ${words}. Check the network and the name, ${remedy}`,
        { cause, data: { retryable: true } },
      )
    : new HubError(
        'HUB_IMAGE_MISSING',
        `${image} and could not be pulled: ${words}. Check its name, ${remedy}`,
        { cause },
      );
}

/** Messages of the engine, which is written in Go, about a registry that did not answer. */
const engineCutOff =
  /dial tcp|dial udp|no such host|server misbehaving|i\/o timeout|TLS handshake timeout|connection (refused|reset by peer|timed out)|network is unreachable|no route to host|deadline exceeded|Client\.Timeout exceeded|request canceled while waiting|unexpected EOF|": EOF$|toomanyrequests|HTTP status:? 5\d\d|\b50[234] (Bad Gateway|Service Unavailable|Gateway Time-?out)/i;

/** True if the engine could not reach the registry of an image. */
const isEngineCutOff = (words: string) => engineCutOff.test(words);
