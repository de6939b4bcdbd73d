import { createHash } from 'node:crypto';
import { HubError } from '#core';
import { type Span, elementsOf, membersOf, rawText, stringAt } from '#jsonrpc';

/** Maximum nesting depth of arguments that can be confirmed. */
const maxDepth = 64;

const [brace, bracket, quote] = [0x7b, 0x5b, 0x22];

/**
 * Returns arguments as canonical JSON: without white space, and with sorted members. Numbers stay as written, because
 * parsing could make different numbers equal. Throws HUB_REQUEST_INVALID above 64 levels, and for a duplicate member:
 * the server may read another one than a person was shown.
 */
export const canonicalArguments = (args: Buffer): string =>
  canonical(args, { start: 0, end: args.length }, 0);

/** SHA-256 of canonical arguments, in hex. */
export const hashOf = (args: string): string => createHash('sha256').update(args).digest('hex');

function canonical(bytes: Buffer, span: Span, depth: number): string {
  if (depth > maxDepth) throw invalid(`are nested more than ${maxDepth} levels deep`);
  switch (bytes[span.start]) {
    case brace: {
      const members = membersOf(bytes, span);
      if (!members) throw invalid('contain a member that stands twice');
      const sorted = [...members].toSorted(([one], [other]) => (one < other ? -1 : 1));
      const texts = sorted.map(
        ([name, value]) => `${JSON.stringify(name)}:${canonical(bytes, value, depth + 1)}`,
      );
      return `{${texts.join(',')}}`;
    }
    case bracket:
      return `[${elementsOf(bytes, span)
        .map(value => canonical(bytes, value, depth + 1))
        .join(',')}]`;
    case quote:
      return JSON.stringify(stringAt(bytes, span));
    default:
      return rawText(bytes, span);
  }
}

const invalid = (why: string) =>
  new HubError(
    'HUB_REQUEST_INVALID',
    `"params.arguments" ${why}, and the policy asks a person about this call: send arguments that can be shown`,
  );
