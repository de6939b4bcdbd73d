/** Category of a failure. Each kind maps to one HTTP status and one JSON-RPC code. */
export type ErrorKind =
  | 'invalid'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'too_large'
  | 'overloaded'
  | 'unavailable'
  | 'timeout'
  | 'cancelled'
  | 'internal';

/** Every error code of the hub, with its kind. `hub/ERRORS.md` documents each code; a test compares the two. */
export const codes = {
  HUB_CONFIG_MISSING: 'invalid',
  HUB_CONFIG_INVALID: 'invalid',
  HUB_CONFIG_CONFLICT: 'conflict',
  HUB_CONFIG_UNWRITABLE: 'unavailable',
  HUB_USAGE: 'invalid',
  HUB_REQUEST_INVALID: 'invalid',
  HUB_OWNER_ONLY: 'forbidden',
  HUB_POLICY_DENIED: 'forbidden',
  HUB_APPROVAL_NEEDED: 'forbidden',
  HUB_APPROVAL_DENIED: 'forbidden',
  HUB_APPROVAL_UNKNOWN: 'not_found',
  HUB_APPROVALS_FULL: 'overloaded',
  HUB_APPROVAL_STORE_FAILED: 'unavailable',
  HUB_DEFINITION_HELD: 'forbidden',
  HUB_DEFINITION_STALE: 'conflict',
  HUB_LOCK_INVALID: 'conflict',
  HUB_AUDIT_UNAVAILABLE: 'unavailable',
  HUB_LISTEN_REFUSED: 'forbidden',
  HUB_PORT_TAKEN: 'conflict',
  HUB_DATA_LOCKED: 'conflict',
  HUB_CONFIRMATION_NEEDED: 'conflict',
  HUB_SERVER_UNKNOWN: 'not_found',
  HUB_SERVER_EXISTS: 'conflict',
  HUB_SERVER_DISABLED: 'conflict',
  HUB_SERVER_STOPPED: 'conflict',
  HUB_SERVER_START_FAILED: 'unavailable',
  HUB_SERVER_FAILED: 'unavailable',
  HUB_LOGIN_REQUIRED: 'conflict',
  HUB_LOGIN_FAILED: 'unavailable',
  HUB_SERVER_DOWN: 'unavailable',
  HUB_SERVER_PROTOCOL: 'unavailable',
  HUB_SERVER_BUSY: 'overloaded',
  HUB_LIMIT_REACHED: 'overloaded',
  HUB_BREAKER_OPEN: 'unavailable',
  HUB_LINE_TOO_LONG: 'too_large',
  HUB_BODY_TOO_LARGE: 'too_large',
  HUB_CALL_TIMEOUT: 'timeout',
  HUB_CALL_CANCELLED: 'cancelled',
  HUB_CALL_UNKNOWN: 'not_found',
  HUB_JOB_UNKNOWN: 'not_found',
  HUB_NAME_UNKNOWN: 'not_found',
  HUB_PROFILE_UNKNOWN: 'not_found',
  HUB_SESSIONS_FULL: 'overloaded',
  HUB_SUBSCRIPTIONS_FULL: 'overloaded',
  HUB_INSTANCES_FULL: 'overloaded',
  HUB_INPUTS_FULL: 'overloaded',
  HUB_INSTALLS_FULL: 'overloaded',
  HUB_CLIENT_UNKNOWN: 'conflict',
  HUB_CLIENT_GONE: 'unavailable',
  HUB_CAPABILITY_MISSING: 'invalid',
  HUB_VERSION_UNSUPPORTED: 'invalid',
  HUB_HEADER_MISMATCH: 'invalid',
  HUB_STATE_INVALID: 'invalid',
  HUB_SHUTTING_DOWN: 'unavailable',
  HUB_CONNECT_FAILED: 'unavailable',
  HUB_ENGINE_UNREACHABLE: 'unavailable',
  HUB_ENGINE_REFUSED: 'unavailable',
  HUB_VOLUMES_FULL: 'conflict',
  HUB_IMAGE_MISSING: 'invalid',
  HUB_IMAGE_BUILD_FAILED: 'invalid',
  HUB_PACKAGE_UNKNOWN: 'invalid',
  HUB_REGISTRY_UNREACHABLE: 'unavailable',
  HUB_CONTAINER_NAME_TAKEN: 'conflict',
  HUB_LAUNCH_INVALID: 'invalid',
  HUB_COMMAND_MISSING: 'invalid',
  HUB_REMOTE_UNREACHABLE: 'unavailable',
  HUB_OLLAMA_FAILED: 'unavailable',
  HUB_MODEL_UNKNOWN: 'not_found',
  HUB_MODEL_FAILED: 'unavailable',
  HUB_OLLAMA_UNAVAILABLE: 'unavailable',
  HUB_MODEL_CALL_PROTOCOL: 'unavailable',
  HUB_MODEL_CALL_TIMEOUT: 'timeout',
  HUB_MODEL_CALL_CRASHED: 'unavailable',
  HUB_CONTEXT_FULL: 'too_large',
  HUB_BUDGET_SPENT: 'overloaded',
  HUB_AGENT_ID_INVALID: 'invalid',
  HUB_AGENT_UNKNOWN: 'not_found',
  HUB_AGENTS_FULL: 'overloaded',
  HUB_AGENT_QUEUE_FULL: 'overloaded',
  HUB_AGENT_STORE_FAILED: 'unavailable',
  HUB_AGENT_DIED: 'unavailable',
  HUB_AGENT_STOPPED: 'conflict',
  HUB_AGENT_CYCLE: 'conflict',
  HUB_AGENT_FILE_UNKNOWN: 'not_found',
  HUB_WORKSPACE_FULL: 'conflict',
  HUB_TURN_TIMEOUT: 'timeout',
  HUB_CONTRACT_INVALID: 'invalid',
  HUB_TASK_UNKNOWN: 'not_found',
  HUB_TASK_EXISTS: 'conflict',
  HUB_TASK_STATE: 'conflict',
  HUB_TASK_BUSY: 'conflict',
  HUB_TASK_LEASED: 'conflict',
  HUB_TASKS_FULL: 'overloaded',
  HUB_TASK_STORE_FAILED: 'unavailable',
  HUB_PATH_REFUSED: 'forbidden',
  HUB_PATH_FORBIDDEN: 'forbidden',
  HUB_REPOSITORY_UNKNOWN: 'not_found',
  HUB_REPOSITORY_REFUSED: 'conflict',
  HUB_REPOSITORY_LIMIT: 'too_large',
  HUB_REPOSITORIES_FULL: 'overloaded',
  HUB_GIT_FAILED: 'unavailable',
  HUB_VAULT_UNKNOWN: 'not_found',
  HUB_VAULT_UNREACHABLE: 'unavailable',
  HUB_PROJECT_NAME_TAKEN: 'conflict',
  HUB_DOCUMENTATIONS_FULL: 'overloaded',
  HUB_CACHE_UNREACHABLE: 'unavailable',
  HUB_BROKER_REFUSED: 'forbidden',
  HUB_BROKER_UNKNOWN: 'not_found',
  HUB_INTERNAL: 'internal',
} as const satisfies Record<string, ErrorKind>;

export type Code = keyof typeof codes;

export const isCode = (value: unknown): value is Code =>
  typeof value === 'string' && Object.hasOwn(codes, value);

/** Machine-readable details of a failure, sent as `error.data`. */
export type ErrorData = {
  readonly server?: string;
  /** True if the same request may succeed later without changes. */
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  /** The last lines that the server wrote to stderr. */
  readonly stderr?: string;
  readonly [fact: string]: unknown;
};

/** The hub's only error class. The message addresses the person who has to act on it. */
export class HubError extends Error {
  override readonly name = 'HubError';
  readonly code: Code;
  readonly data: ErrorData;

  constructor(
    code: Code,
    message: string,
    options: { readonly cause?: unknown; readonly data?: ErrorData } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.data = options.data ?? {};
  }
}

/** Creates an error for a request that may succeed later without changes. */
export const retryable = (code: Code, message: string, data: ErrorData = {}): HubError =>
  new HubError(code, message, { data: { ...data, retryable: true } });

/** Returns the kind of any thrown value. A value that is not a HubError is a bug and counts as `internal`. */
export function kindOf(error: unknown): ErrorKind {
  return error instanceof HubError ? codes[error.code] : 'internal';
}

/** True if another process holds the lock of a SQLite database (SQLITE_BUSY, sqlite.org/rescode.html). */
export const isSqliteBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === 5;

/** Returns the code of an error of Node or of the system, such as `ENOENT`. */
export const errorCodeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

/**
 * Handler for the `catch` of a file operation: returns undefined if the file or folder does not exist, and rethrows
 * other errors.
 */
export function ignoreMissing(error: unknown): undefined {
  if (errorCodeOf(error) !== 'ENOENT') throw error;
}

/** Returns the message of any thrown value, followed by the messages of its causes unless it quotes them. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The AggregateError that Node throws for a failed connection has an empty message.
  const own = error.message || ('code' in error ? String(error.code) : error.name);
  if (error.cause === undefined || error instanceof HubError) return own;
  const cause = messageOf(error.cause);
  return own.includes(cause) ? own : `${own}: ${cause}`;
}
