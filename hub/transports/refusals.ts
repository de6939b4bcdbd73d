import { encodeError } from '#jsonrpc';
import { modernVersions, protocolVersions } from '#mcp';
import { refuse, sendJson } from './answer.ts';
import type { HttpRequest, HttpResponse } from './http-message.ts';

/** The code that the SDKs use for refusals without a code of their own in JSON-RPC and MCP. */
export const refused = -32000;

/** Answers 400 to a request with an unknown revision. */
export function refuseVersion(response: HttpResponse, version: unknown, body?: Buffer): void {
  const known = [...modernVersions, ...protocolVersions].join(', ');
  const why = `MCP-Protocol-Version is ${JSON.stringify(version)}; the hub speaks ${known}`;
  refuse(response, 400, refused, why, body);
}

/** Answers 405 with the allowed methods. */
export function refuseMethod(request: HttpRequest, response: HttpResponse, allowed: string): void {
  const why = `${request.method} is not a method of this endpoint`;
  sendJson(response, 405, encodeError('null', refused, why), { allow: allowed });
}
