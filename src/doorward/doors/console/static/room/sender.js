// Whom a message is of. The keepers of two people have one name, so whose it is stands beside it.

export function senderOf(message) {
  return message.sender === "keeper" && message.onBehalfOf ? `${message.sender} for ${message.onBehalfOf}` : message.sender;
}
