/** Of each contender's pool. */
export const connectionsMax = 10;
