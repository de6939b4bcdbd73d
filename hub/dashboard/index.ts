export { explained } from './caches.ts';
export type { Part } from './changes.ts';
export { type Dashboard, createDashboard } from './dashboard.ts';
export type {
  DashboardAnswer,
  DashboardNeeds,
  DashboardRequest,
  HealthReport,
  Logins,
  PartHealth,
} from './dashboard-types.ts';
export { html, textOf } from './html.ts';
export type { Failure } from './pieces.ts';
export { fieldsOf } from './tool-fields.ts';
export type { ContainerUsage, ContainerUsages } from './usage.ts';
