import type { DashboardRequest } from '#dashboard';
import { caller } from '#helpers/principal';

type Given = Partial<Omit<DashboardRequest, 'query' | 'form' | 'param'>> & {
  readonly query?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly params?: Readonly<Record<string, string>>;
};

/** Returns a request of a visitor, as the routes pass it to a page. */
export const requestOf = ({
  query = {},
  form = {},
  params = {},
  ...given
}: Given = {}): DashboardRequest => ({
  method: 'GET',
  url: '/dashboard',
  headers: {},
  address: '127.0.0.1',
  endpoint: 'http://localhost:9090/mcp',
  isHtmx: false,
  param: name => params[name] ?? '',
  query: name => query[name] ?? '',
  form: new URLSearchParams(form),
  visitor: { rights: 'viewer', isLoggedIn: false },
  principal: () => caller,
  signal: new AbortController().signal,
  ...given,
});
