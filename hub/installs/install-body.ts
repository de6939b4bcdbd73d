import { z } from 'zod';
import { entryKeys } from '#config';
import { HubError, firstProblems, isObject, shortened } from '#core';
import type { InstallRequest, TrialRequest } from './request.ts';
import { serverJson, text } from './server-json.ts';

const texts = z.record(z.string().max(256), text);
const confirm = z.array(z.string().max(65_536)).max(1000).default([]);

const body = z
  .object({
    package: text.min(1).optional(),
    server: serverJson.optional(),
    /** Metadata next to "server" in responses of the registry. Ignored. */
    _meta: z.unknown().optional(),
    name: text.optional(),
    transport: z.enum(['stdio', 'http', 'sse']).optional(),
    variables: texts.default({}),
    args: z.array(text).max(1000).optional(),
    env: texts.default({}),
    headers: texts.default({}),
    confirm,
  })
  .catchall(z.json('write what JSON can hold'));

/** Keys of a config entry that an install does not accept, with what to write instead. */
const saidOtherwise = new Map([
  ['image', 'write "package": "docker:" with the image behind it'],
  ['url', 'write the address as "package"'],
  ['type', 'write "transport"'],
  ['enabled', 'an install starts the server once: switch it off in the config afterwards'],
  ['disabled', 'an install starts the server once: switch it off in the config afterwards'],
]);
const ownKeys = Object.keys(body.shape);
/** Keys of a config entry that an install copies unchanged. The config validates them. */
const handedOn = entryKeys.filter(key => !ownKeys.includes(key) && !saidOtherwise.has(key));

/** Parses the body of `POST /servers/install`. Throws HUB_REQUEST_INVALID that names each invalid field. */
export function parseInstallBody(given: unknown): InstallRequest {
  const hasServer = isObject(given) && given['server'] !== undefined;
  const current = hasServer ? { ...given, server: renamed(given['server'], 0) } : given;
  const parsed = body.safeParse(current);
  const unknown = isObject(given) ? Object.keys(given).flatMap(unknownKey) : [];
  if (parsed.error) throw invalid([...parsed.error.issues.map(sentence), ...unknown]);
  if (unknown.length > 0) throw invalid(unknown);
  const {
    package: named,
    server,
    _meta,
    name,
    transport,
    variables,
    args,
    env,
    headers,
    confirm,
    ...rest
  } = parsed.data;
  if (named !== undefined && server)
    throw invalid(['server: does not go with "package": keep one of them']);
  const source = named === undefined ? server && { server } : { package: named };
  if (!source)
    throw invalid([
      'package: is missing: write what to install, such as "@org/mcp-server", or "server" with a server.json of the registry',
    ]);
  return { name, source, transport, variables, args, env, headers, confirm, rest };
}

const trialBody = z.strictObject({
  name: text.min(1),
  entry: z.record(z.string(), z.json('write what JSON can hold')),
  confirm,
});

/** Parses the body of `POST /servers/try`. Throws HUB_REQUEST_INVALID that names each invalid field. */
export function parseTrialBody(given: unknown): TrialRequest {
  const parsed = trialBody.safeParse(given);
  if (parsed.error)
    throw invalid(
      parsed.error.issues.flatMap(issue =>
        issue.code === 'unrecognized_keys' && issue.path.length === 0
          ? issue.keys.map(key => noField(key, 'a trial', Object.keys(trialBody.shape)))
          : [sentence(issue)],
      ),
    );
  return parsed.data;
}

function unknownKey(key: string): readonly string[] {
  if (ownKeys.includes(key) || handedOn.includes(key)) return [];
  const otherwise = saidOtherwise.get(key);
  const allowed = [...ownKeys.filter(own => own !== '_meta'), ...handedOn];
  return [
    otherwise === undefined
      ? noField(key, 'an install', allowed)
      : `${key}: is not a field of an install: ${otherwise}`,
  ];
}

const noField = (key: string, of: string, allowed: readonly string[]) =>
  `${shortened(key)}: is not a field of ${of}. Remove it; allowed are ${allowed.join(', ')}`;

function invalid(all: readonly string[]): HubError {
  const problems = firstProblems(all);
  return new HubError('HUB_REQUEST_INVALID', problems.join('\n'), { data: { problems } });
}

const expected = new Map([
  ['string', 'a string'],
  ['array', 'a list'],
  ['object', 'an object'],
  ['record', 'an object'],
  ['boolean', 'true or false'],
]);

function sentence(issue: z.core.$ZodIssue): string {
  const path = shortened(issue.path.map(String).join('.'));
  switch (issue.code) {
    case 'invalid_type':
      return `${path || 'the body'}: ${issue.message.endsWith('undefined') ? 'is missing: ' : ''}write ${expected.get(issue.expected) ?? issue.expected}`;
    case 'invalid_value':
      return `${path}: write ${issue.values.map(value => JSON.stringify(value)).join(' or ')}`;
    case 'too_small':
      return `${path}: must not be empty`;
    case 'too_big':
      return `${path}: is longer than ${issue.maximum}`;
    default:
      return `${path}: ${issue.message}`;
  }
}

/** Keys of the registry's first schema (July 2025), which used underscores, and their current names. */
const older = new Map([
  ['registry_type', 'registryType'],
  ['registry_base_url', 'registryBaseUrl'],
  ['file_sha256', 'fileSha256'],
  ['runtime_arguments', 'runtimeArguments'],
  ['package_arguments', 'packageArguments'],
  ['environment_variables', 'environmentVariables'],
  ['value_hint', 'valueHint'],
  ['is_required', 'isRequired'],
  ['is_secret', 'isSecret'],
  ['transport_type', 'type'],
]);

/** Maximum nesting depth for renaming keys. No server.json is deeper. */
const maxDepth = 8;

/** Returns a server.json with the current names of keys, and without members that are null: some registries write those. */
function renamed(value: unknown, depth: number): unknown {
  if (depth > maxDepth) return value;
  if (Array.isArray(value)) return value.map(item => renamed(item, depth + 1));
  if (!isObject(value)) return value;
  const rename = ([key, inside]: [string, unknown]) =>
    [older.get(key) ?? key, renamed(inside, depth + 1)] as const;
  const members = Object.entries(value).filter(([, inside]) => inside !== null);
  return Object.fromEntries(members.map(rename));
}
