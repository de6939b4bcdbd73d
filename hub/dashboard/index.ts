export {
  type CallFilter,
  type CallRow,
  activity,
  activityPartial,
  recentCalls,
} from './activity.ts';
export { loadAssets } from './assets.ts';
export { type PromptLookup, caches, cachesPartial, explained } from './caches.ts';
export { call } from './call.ts';
export { type Failure, failureNotice, failurePage } from './failure.ts';
export { type Html, html, textOf } from './html.ts';
export { type InstallForm, emptyForm, install } from './install.ts';
export { type JobView, job, jobPartial, jobs, jobsPartial } from './jobs.ts';
export { type Frame, type Page, type Visitor, layout } from './layout.ts';
export { type LoginView, loggedIn, login } from './login.ts';
export { type HealthView, healthPartial, overview } from './overview.ts';
export { paths, withQuery } from './paths.ts';
export { notice } from './pieces.ts';
export type { Rights } from './rights.ts';
export {
  type ListedItem,
  type ServerLists,
  type SandboxView,
  type ServerView,
  logPartial,
  offersPartial,
  remove,
  server,
  statePartial,
  toolsPerPage,
} from './server.ts';
export { sessions, sessionsPartial } from './sessions.ts';
export type { ServerRow, UsageView } from './states.ts';
export { type HitRate, statsPartial } from './stats.ts';
export {
  type ToolResult,
  type ToolView,
  argumentName,
  jsonName,
  tool,
  toolResult,
} from './tool.ts';
export { type Field, fieldsOf } from './tool-fields.ts';
