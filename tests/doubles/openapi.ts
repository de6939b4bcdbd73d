import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { isObject } from '#core';

/** A request to a double or an answer of it, with the fields that an OpenAPI description covers. */
export type Exchange = {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** HTTP status of an answer; undefined for a request. */
  readonly status: number | undefined;
  /** Content type; its parameters are ignored. */
  readonly contentType: string;
  /** One JSON value. A stream of lines is one exchange for each line. */
  readonly body: unknown;
};

/** The OpenAPI description of an API. */
type Description = {
  /** Returns how an exchange deviates from the description; empty if it conforms, undefined if it is not described. */
  problems(exchange: Exchange): readonly string[] | undefined;
};

/** Folder of the OpenAPI descriptions: beside the repository, or OPENAPI_DIR. */
const folder =
  process.env['OPENAPI_DIR'] ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'openapi');

/** Reads a description from a YAML or JSON file of the folder; undefined if there is no such file. */
export function findDescription(file: string): Description | undefined {
  const path = join(folder, file);
  return existsSync(path)
    ? createDescription(parse(readFileSync(path, 'utf8'), withNull))
    : undefined;
}

/** Replaces `nullable` of OpenAPI 3.0 by a union with type `null`: ajv accepts `nullable` only next to `type`. */
function withNull(_key: unknown, value: unknown): unknown {
  if (!isObject(value) || value['nullable'] !== true) return value;
  const { nullable: _, ...schema } = value;
  // In a union, a schema with nothing but `nullable` means null.
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

  /** Returns the path template that matches a path, preferably one without parameters. */
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
      // A status that is not described itself has the description of its class, such as 4XX.
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

/** Escapes a step of a JSON pointer inside a URI. */
const escaped = (key: string) =>
  encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
