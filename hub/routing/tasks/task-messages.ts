import { type Notification, type Request, readMessage } from '#jsonrpc';
import type { ServerRequest } from '#upstream';
import { withTaskId } from './task-ids.ts';
import type { Task } from './tasks.ts';

/** Replaces the task id in a notification with the client's id. */
export function notificationInTask(
  notification: Notification,
  task: Task | undefined,
): Notification {
  if (!isRenamed(task)) return notification;
  const renamed = readMessage(
    withTaskId(notification.bytes, notification.params, task.taskId, task.publicId),
  );
  return renamed.kind === 'notification' ? renamed : notification;
}

/** Replaces the task id in a request with the client's id, and in its answer with the server's id. */
export function requestInTask(serverRequest: ServerRequest, task: Task | undefined): ServerRequest {
  if (!isRenamed(task)) return serverRequest;
  const { taskId, publicId } = task;
  const { bytes, params } = serverRequest.request;
  const renamed = readMessage(withTaskId(bytes, params, taskId, publicId));
  const request: Request = renamed.kind === 'request' ? renamed : serverRequest.request;
  return {
    ...serverRequest,
    request,
    answer: reply => serverRequest.answer(inPayload(reply, publicId, taskId)),
  };
}

/** Replaces the id of a task in a whole answer. */
export function inPayload(bytes: Buffer, from: string, to: string): Buffer {
  const answer = from === to ? undefined : readMessage(bytes);
  return answer?.kind === 'answer' ? withTaskId(bytes, answer.payload, from, to) : bytes;
}

const isRenamed = (task: Task | undefined): task is Task =>
  task !== undefined && task.publicId !== task.taskId;
