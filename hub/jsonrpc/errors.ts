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

/** Codes of JSON-RPC 2.0 (section 5.1) and of MCP that the hub uses. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** For an unknown session, as in the SDKs. */
  sessionUnknown: -32001,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/**
 * The JSON-RPC code of each kind of failure. Kinds without a standard code use the range for implementations (-32000 to
 * -32099). The MCP SDKs use -32001 for timeouts, the Language Server Protocol -32800 for cancelled requests.
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

/** A failure whose JSON-RPC code differs from that of its kind, such as an unknown method. */
export class RpcError extends HubError {
  readonly rpcCode: number;

  constructor(rpcCode: number, code: Code, message: string, data: ErrorData = {}) {
    super(code, message, { data });
    this.rpcCode = rpcCode;
  }
}

/** Creates an error response. `id`: id of the request as JSON text, or `null`. */
export function errorAnswer(id: string, error: unknown): Buffer {
  const hubError = error instanceof HubError ? error : undefined;
  const code = error instanceof RpcError ? error.rpcCode : codeOfKind[kindOf(error)];
  return encodeError(id, code, messageOf(error), {
    code: hubError?.code ?? ('HUB_INTERNAL' satisfies keyof typeof codes),
    ...hubError?.data,
  });
}

/** Creates the response to bytes that are not a message. */
export function malformedAnswer(malformed: Malformed): Buffer {
  const code = malformed.cause === 'not_json' ? rpcCodes.parseError : rpcCodes.invalidRequest;
  return encodeError('null', code, malformed.detail, { code: 'HUB_REQUEST_INVALID' });
}

/** Creates an error response from its parts. */
export function encodeError(id: string, code: number, message: string, data?: object): Buffer {
  return Buffer.from(
    `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message, data })}}`,
  );
}

/** Creates a result response. `id` and the result are JSON text. */
export function encodeResult(id: string, result: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
}

/** Creates a request, or a notification if there is no id. */
export function encodeCall(id: number | undefined, method: string, params?: object): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
}
