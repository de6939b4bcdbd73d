import { type Request, type Span, createLookalikes, membersOf } from '#jsonrpc';
import { metaKeys } from '#mcp';

type Spans = ReadonlyMap<string, Span>;

/** Methods of MCP whose params the hub reads. */
const ofMcp = /^(?:completion|prompts|resources|tasks|tools)\//;

/** Members of a request that decide where it goes and whether it is allowed, by the object that contains them. */
const lookalikes = {
  params: createLookalikes([
    '_meta',
    'arguments',
    'inputResponses',
    'name',
    'ref',
    'requestState',
    'task',
    'taskId',
    'uri',
  ]),
  'params.ref': createLookalikes(['name', 'type', 'uri']),
  'params._meta': createLookalikes(['progressToken', ...Object.values(metaKeys)]),
};

/**
 * Returns the error for a member such as `Name` that a server may read as `name`, which the hub reads. Undefined if
 * there is none.
 */
export function lookalikeIn(
  { bytes, method }: Request,
  params: Spans,
  meta: Spans | undefined,
): string | undefined {
  return (
    find(params, 'params', method) ??
    find(meta, 'params._meta', method) ??
    find(membersOf(bytes, params.get('ref')), 'params.ref', method)
  );
}

function find(
  members: Spans | undefined,
  where: keyof typeof lookalikes,
  method: string,
): string | undefined {
  for (const name of members?.keys() ?? []) {
    const meant = lookalikes[where](name);
    if (meant !== undefined && ofMcp.test(method))
      return `${JSON.stringify(`${where}.${name}`)} is not "${meant}", and some servers take it for that: write "${meant}"`;
  }
  return undefined;
}
