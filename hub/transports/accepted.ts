import type { HttpRequest } from './http-message.ts';

/** The media types that the client accepts; all without the header. */
export function acceptedTypes(request: HttpRequest): {
  readonly json: boolean;
  readonly stream: boolean;
} {
  const accept = request.headers.accept ?? '*/*';
  const any = accept.includes('*/*');
  return {
    json: any || accept.includes('application/json') || accept.includes('application/*'),
    stream: any || accept.includes('text/event-stream') || accept.includes('text/*'),
  };
}

/** Whether Content-Type is JSON, which MCP requires of every POST. */
export function isJson(request: HttpRequest): boolean {
  const type = request.headers['content-type'];
  return type === 'application/json' || /^application\/json\s*(;|$)/i.test(type ?? '');
}
