// Carries the precompiled header that every module with tensors shares.
