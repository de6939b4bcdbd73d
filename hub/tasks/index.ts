export { contractSchemaText } from './contract.ts';
export { createModelCalls } from './model-calls/model-calls.ts';
export {
  type TaskJudgement,
  type TaskPipeline,
  type TaskReportName,
  type TaskRunKind,
  type TaskView,
  taskReports,
} from './task-types.ts';
export { createTasks } from './tasks.ts';
