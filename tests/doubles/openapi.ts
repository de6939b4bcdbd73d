import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { isObject } from '#core';

/** What a double has answered, or was asked, as far as a description of its API speaks of it. */
export type Exchange = {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Undefined for what the double was asked. */
  readonly status: number | undefined;
  /** Parameters of it are ignored. */
  readonly contentType: string;
  /** One JSON value; a stream of lines is one exchange for each line. */
  readonly body: unknown;
};

/** An API as its makers describe it. */
type Description = {
  /** What is wrong with it, in words; empty where nothing is; undefined where it is not described. */
  problems(exchange: Exchange): readonly string[] | undefined;
};

/** Where descriptions are kept: beside the repository, unless OPENAPI_DIR names another folder. */
const folder =
  process.env['OPENAPI_DIR'] ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'openapi');

/** The description in a file of the folder, YAML or JSON; undefined where there is no such file. */
export function findDescription(file: string): Description | undefined {
  const path = join(folder, file);
  return existsSync(path)
    ? createDescription(parse(readFileSync(path, 'utf8'), withNull))
    : undefined;
}

/** OpenAPI 3.0 says `nullable` where JSON Schema has a type of its own, and next to what ajv takes it at. */
function withNull(_key: unknown, value: unknown): unknown {
  if (!isObject(value) || value['nullable'] !== true) return value;
  const { nullable: _, ...schema } = value;
  // One that stands alone in a union says that null is in it, and nothing else.
  if (Object.keys(schema).length === 0) return { type: 'null' };
  return { anyOf: [schema, { type: 'null' }] };
}

function createDescription(document: unknown): Description {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
  addFormats.default(ajv);
  for (const format of ['float', 'double', 'uint8', 'uint', 'uint16', 'uint32', 'uint64'])
    ajv.addFormat(format, true);
  ajv.addSchema(isObject(document) ? document : {}, 'api');
  const checks = new Map<string, ReturnType<typeof ajv.compile>>();
  const paths = Object.keys(childOf(document, ['paths']) ?? {}).map(template => ({
    template,
    parts: template.split('/'),
  }));

  /** The described path that an actual one is of; one without parameters goes first. */
  function templateOf(path: string): string | undefined {
    const actual = path.split('/');
    const matches = paths.filter(
      ({ parts }) =>
        parts.length === actual.length &&
        parts.every((part, at) => part.startsWith('{') || part === actual[at]),
    );
    const sorted = matches.sort((a, b) => countOf(a.template, '{') - countOf(b.template, '{'));
    return sorted[0]?.template;
  }

  return {
    problems({ method, path, status, contentType, body }) {
      const template = templateOf(path);
      if (template === undefined) return undefined;
      const message = status === undefined ? ['requestBody'] : ['responses', String(status)];
      const described = ['paths', template, method.toLowerCase(), ...message];
      // Where a status has no line of its own, that of its hundred holds.
      if (status !== undefined && !childOf(document, described))
        message.splice(1, 1, `${String(status)[0]}XX`);
      const type = contentType.split(';')[0]?.trim() ?? '';
      const at = ['paths', template, method.toLowerCase(), ...message, 'content', type, 'schema'];
      if (!childOf(document, at)) return undefined;
      const key = `api#/${at.map(escaped).join('/')}`;
      const validate = checks.get(key) ?? ajv.compile({ $ref: key });
      checks.set(key, validate);
      if (validate(body)) return [];
      return (validate.errors ?? []).map(
        ({ instancePath, message: words }) => `${method} ${path}: ${instancePath} ${words}`,
      );
    },
  };
}

function childOf(value: unknown, path: readonly string[]): object | undefined {
  let found = value;
  for (const key of path) found = isObject(found) ? found[key] : undefined;
  return isObject(found) ? found : undefined;
}

const countOf = (text: string, part: string) => text.split(part).length;

/** One step of a JSON pointer inside a URI. */
const escaped = (key: string) =>
  encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
