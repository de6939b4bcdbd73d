import {
  type Code,
  type ErrorData,
  type ErrorKind,
  HubError,
  codes,
  kindOf,
  messageOf,
} from '#core';
import type { Malformed } from './message.ts';

/** Codes of JSON-RPC 2.0 (section 5.1) and of MCP that the hub answers with itself. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/**
 * The JSON-RPC code of each kind of failure. Those without a meaning of their own in JSON-RPC are in
 * the range that it leaves to implementations (-32000 to -32099); -32001 is what the MCP SDKs use for
 * a timeout, -32800 what the Language Server Protocol uses for a cancelled request.
 */
const codeOfKind: Readonly<Record<ErrorKind, number>> = {
  invalid: rpcCodes.invalidParams,
  not_found: rpcCodes.invalidParams,
  internal: rpcCodes.internalError,
  timeout: -32001,
  unavailable: -32003,
  conflict: -32004,
  overloaded: -32005,
  forbidden: -32006,
  too_large: -32007,
  cancelled: -32800,
};

/** A failure with a JSON-RPC code that its kind does not tell, such as an unknown method. */
export class RpcError extends HubError {
  readonly rpcCode: number;

  constructor(rpcCode: number, code: Code, message: string, data: ErrorData = {}) {
    super(code, message, { data });
    this.rpcCode = rpcCode;
  }
}

/** A JSON-RPC error answer to the request with this id, given as JSON text; `null` where it has none. */
export function errorAnswer(id: string, error: unknown): Buffer {
  const hubError = error instanceof HubError ? error : undefined;
  const code = error instanceof RpcError ? error.rpcCode : codeOfKind[kindOf(error)];
  return encodeError(id, code, messageOf(error), {
    code: hubError?.code ?? ('HUB_INTERNAL' satisfies keyof typeof codes),
    ...hubError?.data,
  });
}

/** The answer to bytes that are no message. */
export function malformedAnswer(malformed: Malformed): Buffer {
  const code = malformed.cause === 'not_json' ? rpcCodes.parseError : rpcCodes.invalidRequest;
  return encodeError('null', code, malformed.detail, { code: 'HUB_REQUEST_INVALID' });
}

/** An error answer made of its parts. */
export function encodeError(id: string, code: number, message: string, data?: object): Buffer {
  return Buffer.from(
    `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message, data })}}`,
  );
}

/** A result answer to the request with this id, given as JSON text, as is the result. */
export function encodeResult(id: string, result: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
}

/** A request or, without an id, a notification of the hub's own. */
export function encodeCall(id: number | undefined, method: string, params?: object): Buffer {
  return Buffer.from(
    JSON.stringify(
      id === undefined
        ? { jsonrpc: '2.0', method, params }
        : { jsonrpc: '2.0', id, method, params },
    ),
  );
}
